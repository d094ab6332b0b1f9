#include <algorithm>
#include <numeric>
#include <random>
#include <set>
#include <utility>
#include <vector>

#include <ATen/CPUGeneratorImpl.h>
#include <ATen/ops/randperm.h>

#include "catch.h"
#include "data/distributed_sampler.h"
#include "datasets/draws.h"
#include "kernels/kernels.h"

namespace ddp::data {
namespace {

std::vector<std::int64_t> list(const at::Tensor& tensor) {
  return {tensor.const_data_ptr<std::int64_t>(), tensor.const_data_ptr<std::int64_t>() + tensor.numel()};
}

std::vector<std::int64_t> indices(DistributedSampler sampler, std::int64_t epoch = 0) {
  const auto found = list(sampler.indices(epoch));
  CHECK(static_cast<std::int64_t>(found.size()) == sampler.length());
  return found;
}

using Indices = std::vector<std::int64_t>;

}  // namespace

TEST_CASE("each rank takes every world-th sample and the order wraps around if it does not divide") {
  DistributedSampler s{.size = 7, .rank = 0, .world_size = 3, .shuffle = false};
  CHECK(indices(s) == Indices{0, 3, 6});
  s.rank = 1;
  CHECK(indices(s) == Indices{1, 4, 0});
  s.rank = 2;
  CHECK(indices(s) == Indices{2, 5, 1});
}

TEST_CASE("with fewer samples than ranks the order wraps around as often as necessary") {
  for (int rank = 0; rank < 5; ++rank) {
    CHECK(indices({.size = 2, .rank = rank, .world_size = 5, .shuffle = false}) == Indices{rank % 2});
  }
  CHECK(indices({.size = 1, .rank = 3, .world_size = 4, .shuffle = true}) == Indices{0});
}

TEST_CASE("drop_last drops the samples that do not divide over the ranks") {
  DistributedSampler s{.size = 8, .rank = 0, .world_size = 3, .shuffle = false, .drop_last = true};
  CHECK(indices(s) == Indices{0, 3});
  s.rank = 2;
  CHECK(indices(s) == Indices{2, 5});
  s.size = 9;
  CHECK(indices(s) == Indices{2, 5, 8});
}

TEST_CASE("shuffled samples are randperm of the seed plus the epoch, divided over the ranks") {
  for (const std::int64_t size : {1, 2, 3, 10, 1000, 123457}) {
    for (const std::int64_t epoch : {0, 1, 5}) {
      const auto generator = at::detail::createCPUGenerator(static_cast<std::uint64_t>(11 + epoch));
      const Indices order = list(at::randperm(size, generator, at::TensorOptions().dtype(at::kLong)));
      for (int rank = 0; rank < 4; ++rank) {
        Indices expected;
        for (std::int64_t p = rank; p < (size + 3) / 4 * 4; p += 4) {
          expected.push_back(order[static_cast<std::size_t>(p % size)]);  // it wraps around
        }
        CHECK(indices({.size = size, .rank = rank, .world_size = 4, .shuffle = true, .drop_last = false, .seed = 11},
                      epoch) == expected);
      }
    }
  }
}

TEST_CASE("the order of an epoch is the one that PyTorch's DistributedSampler gives in Python") {
  // list(DistributedSampler(range(n), world, rank, seed=…, drop_last=…)) after set_epoch.
  CHECK(indices({.size = 6, .rank = 0, .world_size = 2}) == Indices{2, 3, 1});
  CHECK(indices({.size = 6, .rank = 1, .world_size = 2}) == Indices{5, 0, 4});
  const std::vector<Indices> ten{{1, 5, 0}, {9, 2, 4}, {3, 6, 1}, {8, 7, 9}};
  const std::vector<Indices> three{{1}, {0}, {2}, {1}, {0}};
  for (int r = 0; r < 4; ++r) {
    DistributedSampler s{.size = 10, .rank = r, .world_size = 4, .shuffle = true, .drop_last = false, .seed = 11};
    CHECK(indices(s, 5) == ten[static_cast<std::size_t>(r)]);
    s.drop_last = true;
    const Indices& whole = ten[static_cast<std::size_t>(r)];
    CHECK(indices(s, 5) == Indices{whole[0], whole[1]});
  }
  for (int r = 0; r < 5; ++r) {
    CHECK(indices({.size = 3, .rank = r, .world_size = 5, .shuffle = true, .drop_last = false, .seed = 7}, 2) ==
          three[static_cast<std::size_t>(r)]);
  }
}

TEST_CASE("the samples that other ranks left of an epoch are divided with none skipped and repeats only to fill up") {
  for (const int before : {1, 2, 3, 4}) {
    for (const int now : {1, 2, 3, 5, 8}) {
      for (const std::int64_t each : {0, 1, 4, 7}) {
        INFO(before << " ranks took " << each << " each, " << now << " continue");
        std::multiset<std::int64_t> seen;
        for (int rank = 0; rank < before; ++rank) {
          const Indices whole = indices({.size = 31, .rank = rank, .world_size = before, .seed = 5}, 3);
          seen.insert(whole.begin(), whole.begin() + each);
        }
        for (int rank = 0; rank < now; ++rank) {
          const DistributedSampler s{.size = 31, .rank = rank, .world_size = now, .seed = 5};
          const Indices rest = list(s.indices(3, each * before));
          CHECK(static_cast<std::int64_t>(rest.size()) == s.length(each * before));
          seen.insert(rest.begin(), rest.end());
        }
        for (std::int64_t i = 0; i < 31; ++i) CHECK(seen.count(i) >= 1);
        CHECK(seen.size() < 31 + static_cast<std::size_t>(now));
      }
    }
  }
}

TEST_CASE("a stream draws each sample once an epoch, from blocks within its window") {
  std::mt19937 draw(7);
  for (int shape = 0; shape < 1000; ++shape) {
    const auto blocks = static_cast<std::size_t>(1 + draw() % 40);
    const auto window = static_cast<std::int64_t>(1 + draw() % 20);
    Indices cuts{0};
    for (std::size_t b = 0; b < blocks; ++b) cuts.push_back(cuts.back() + draw() % 30);
    const auto order = indices({.size = cuts.back(), .seed = shape, .cuts = cuts, .window = window}, 3);
    Indices sorted = order;
    std::sort(sorted.begin(), sorted.end());
    Indices all(static_cast<std::size_t>(cuts.back()));
    std::iota(all.begin(), all.end(), 0);
    REQUIRE(sorted == all);
    // Blocks come in the order of torch.randperm: a block begins only when fewer than `window` earlier ones have
    // samples.
    const auto of_blocks =
        list(at::randperm(static_cast<std::int64_t>(blocks),
                          at::detail::createCPUGenerator(static_cast<std::uint64_t>(shape) + 3), at::kLong));
    std::vector<std::int64_t> left(blocks);
    for (std::size_t b = 0; b < blocks; ++b) left[b] = cuts[b + 1] - cuts[b];
    for (const std::int64_t sample : order) {
      const auto block = std::upper_bound(cuts.begin(), cuts.end(), sample) - cuts.begin() - 1;
      std::int64_t older = 0;
      for (const std::int64_t other : of_blocks) {
        if (other == block) break;
        older += left[static_cast<std::size_t>(other)] > 0;
      }
      REQUIRE(older < window);
      --left[static_cast<std::size_t>(block)];
    }
  }
}

TEST_CASE("each draw of a stream is that of the seed, the epoch and the position") {
  const std::int64_t size = 500, epoch = (std::int64_t{1} << 32) - 1;
  for (const std::int64_t seed : {0L, 42L, -1L, (1L << 40) + 5}) {
    Indices left(static_cast<std::size_t>(size)), expected;
    std::iota(left.begin(), left.end(), 0);
    for (std::int64_t position = 0; position < size; ++position) {
      const auto drawn = datasets::Draws(static_cast<std::uint64_t>(seed), epoch, position).below(left.size());
      expected.push_back(std::exchange(left[drawn], left.back()));
      left.pop_back();
    }
    WindowedOrder order({0, size}, 1, seed, epoch);
    for (const std::int64_t sample : expected) CHECK(order.next() == sample);
  }
  std::uint64_t bits[kernels::kPhilox];
  const std::int64_t far = (std::int64_t{1} << 32) - 3;  // the position takes two words
  kernels::philox(7, 9, static_cast<std::uint64_t>(far), bits);
  for (std::int64_t i = 0; i < 9; ++i) CHECK(bits[i] == datasets::Draws(7, 9, far + i).below(~std::uint64_t{0}));
}

TEST_CASE("the ranks of a stream take turns in one order, and resume inside it on other numbers of ranks") {
  const Indices cuts{0, 5, 9, 20, 31};
  const auto whole = indices({.size = 31, .cuts = cuts, .window = 2}, 4);
  for (int world = 2; world < 5; ++world) {
    for (std::int64_t done : {0, 7}) {
      for (int rank = 0; rank < world; ++rank) {
        const DistributedSampler s{.size = 31, .rank = rank, .world_size = world, .cuts = cuts, .window = 2};
        const auto own = list(s.indices(4, done));
        for (std::size_t i = 0; i < own.size(); ++i) {
          CHECK(own[i] == whole[(static_cast<std::size_t>(done) + static_cast<std::size_t>(rank) +
                                 i * static_cast<std::size_t>(world)) %
                                31]);
        }
      }
    }
  }
}

}  // namespace ddp::data
