#include <set>
#include <thread>

#include <ATen/ops/empty.h>
#include <ATen/ops/equal.h>

#include "catch.h"
#include "data/batches.h"
#include "datasets/draws.h"

namespace ddp::data {
namespace {

// Sample i is the number i plus its own random number.
class Noisy : public datasets::MapDataset {
 public:
  Noisy(std::int64_t size, std::uint64_t seed) : size_(size), seed_(seed) {}
  std::int64_t size() const override { return size_; }
  datasets::Batch gather(const at::Tensor& indices, std::int64_t epoch) const override {
    const at::Tensor values = at::empty({indices.size(0)}, at::kDouble);
    for (std::int64_t i = 0; i < indices.size(0); ++i) {
      const std::int64_t sample = indices[i].item<std::int64_t>();
      values.mutable_data_ptr<double>()[i] = datasets::Draws(seed_, epoch, sample).uniform();
    }
    return {values, indices.clone()};
  }

 private:
  const std::int64_t size_;
  const std::uint64_t seed_;
};

// The random number of each sample in an epoch, drawn by `ranks` ranks with `workers` threads each.
std::vector<double> drawn(int ranks, std::int64_t workers, std::int64_t epoch) {
  const Noisy noisy(24, 5);
  std::vector<double> of_samples(24);
  for (int rank = 0; rank < ranks; ++rank) {
    config::Loader loader;
    loader.workers = workers;
    const auto batches =
        make_batches(noisy, at::arange(24, at::kLong), {.rank = rank, .world_size = ranks, .batch_size = 5}, loader);
    batches->start_epoch(epoch, 0, 0, /*last=*/true);
    for (std::int64_t left = batches->per_epoch(); left > 0; --left) {
      const datasets::Batch batch = batches->next();
      const at::Tensor& sample = batch.targets.front().second;
      for (std::int64_t i = 0; i < batch.samples(); ++i) {
        of_samples[sample[i].item<std::int64_t>()] = batch.inputs.front().second[i].item<double>();
      }
    }
  }
  return of_samples;
}

}  // namespace

TEST_CASE("draws equal Philox4x32-10 with seed, epoch and sample in the places of key and counter") {
  // Known answers of Random123: kat_vectors, philox4x32 with 10 rounds.
  datasets::Draws zero(0, 0, 0);
  CHECK(zero.bits() == 0x6627e8d5);
  CHECK(zero.bits() == 0xe169c58d);
  CHECK(zero.bits() == 0xbc57ac4c);
  CHECK(zero.bits() == 0x9b00dbd8);
  datasets::Draws uniform(0, 0, 0);
  CHECK(uniform.uniform() == static_cast<double>(0x6627e8d5e169c58d >> 11) * 0x1p-53);
}

TEST_CASE("draws of a place equal Philox with step, micro-batch, rank and sample in its counter") {
  // Counter: 0, step, sample with the low bits of the rank, micro-batch with the highest bit set. No epoch has that
  // bit.
  const datasets::MicroBatchPosition place{.step = 3, .micro_batch = 5, .rank = 7};
  at::philox_engine philox(9, std::uint64_t{1} << 63 | std::uint64_t{5} << 40 | 7 << 24 | 11, std::uint64_t{3} << 32);
  datasets::Draws draws(9, place, 11);
  for (int i = 0; i < 9; ++i) CHECK(draws.bits() == philox());
}

TEST_CASE("neighboring places draw other numbers") {
  const auto first = [](std::int64_t step, std::int64_t micro_batch, int rank, std::int64_t sample) {
    return datasets::Draws(1, {.step = step, .micro_batch = micro_batch, .rank = rank}, sample).bits();
  };
  std::set<std::uint32_t> seen;
  int places = 0;
  for (const std::int64_t step : {0, 1, 2, 1 << 24}) {
    for (const std::int64_t micro_batch : {0, 1, 2, 1 << 20}) {
      for (const int rank : {0, 1, 2, 1 << 15}) {
        for (const std::int64_t sample : {0, 1, 2, 1 << 20}) {
          seen.insert(first(step, micro_batch, rank, sample));
          ++places;
        }
      }
    }
  }
  CHECK(seen.size() == static_cast<std::size_t>(places));
}

TEST_CASE("every number below n is drawn") {
  datasets::Draws draws(1, 2, 3);
  std::set<std::uint64_t> seen;
  for (int i = 0; i < 1000; ++i) seen.insert(draws.below(7));
  CHECK(seen == std::set<std::uint64_t>{0, 1, 2, 3, 4, 5, 6});
}

TEST_CASE("a sample draws the same numbers on any number of ranks and threads, and others in another epoch") {
  const auto expected = drawn(1, 0, 3);
  CHECK(drawn(1, 3, 3) == expected);
  CHECK(drawn(3, 0, 3) == expected);
  CHECK(drawn(4, 2, 3) == expected);
  CHECK(drawn(1, 0, 4) != expected);
  CHECK(std::set<double>(expected.begin(), expected.end()).size() == 24);
}

TEST_CASE("ranks evaluate whole batches in turn, with or without threads") {
  const Noisy noisy(23, 5);
  for (const std::int64_t workers : {0, 2}) {
    for (const int ranks : {1, 2, 3, 7}) {
      std::vector<std::vector<std::int64_t>> batches(5);
      for (int rank = 0; rank < ranks; ++rank) {
        const EvaluationSet set{.dataset = &noisy,
                                .samples = at::arange(23, at::kLong),
                                .batch_size = 5,
                                .rank = rank,
                                .world_size = ranks,
                                .workers = workers};
        REQUIRE(set.batches() == 5);
        EvaluationBatches own(set);
        for (std::int64_t i = 0; i < set.own_batches(); ++i) {
          const at::Tensor samples = own.next().targets.front().second;
          const auto* first = samples.const_data_ptr<std::int64_t>();
          batches.at(rank + i * ranks).assign(first, first + samples.size(0));
        }
      }
      CHECK(batches.front() == std::vector<std::int64_t>{0, 1, 2, 3, 4});
      CHECK(batches[3] == std::vector<std::int64_t>{15, 16, 17, 18, 19});
      CHECK(batches.back() == std::vector<std::int64_t>{20, 21, 22});
    }
  }
}

}  // namespace ddp::data
