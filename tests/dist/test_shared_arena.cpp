#include <fcntl.h>
#include <sched.h>
#include <sys/mount.h>
#include <cerrno>

#include <ATen/Functions.h>

#include "base/file_descriptor.h"
#include "catch.h"
#include "dist/process_group.h"
#include "dist/watched_group.h"
#include "dist/shm/arena.h"
#include "shared_ranks.h"

namespace ddp::dist {
namespace {

using at::Tensor;

std::shared_ptr<SharedArena> arena_in(c10d::ProcessGroup& group, std::size_t bytes) {
  auto arena = arena_of(Group(&group, [](c10d::ProcessGroup*) {}));
  require(arena != nullptr && arena->exists(), "an arena");
  arena->reserve(bytes);
  return arena;
}

bool is_in(const SharedArena& arena, const Tensor& tensor) {
  return arena.place_of(static_cast<const std::byte*>(tensor.const_data_ptr()), tensor.nbytes()).has_value();
}

// Numbers whose sums have other bits in every order.
Tensor order_values(int rank, std::int64_t size, at::ScalarType type) {
  at::manual_seed(static_cast<std::uint64_t>(rank + 1));
  return at::randn({size}).to(type);
}

Tensor made_in(const std::shared_ptr<SharedArena>& arena, const Tensor& values) {
  const SharedArena::Use in_arena(arena);
  return values.clone();
}

Tensor summed(c10d::ProcessGroup& group, const Tensor& tensor, c10d::ReduceOp::RedOpType op = c10d::ReduceOp::SUM) {
  std::vector<Tensor> tensors{tensor};
  c10d::AllreduceOptions options;
  options.reduceOp = op;
  group.allreduce(tensors, options)->wait();
  return tensor;
}

}  // namespace

TEST_CASE("a sum of tensors in the arena has the bits of a sum of tensors elsewhere, for any size and any world") {
  for (const int world : {1, 2, 3, 5, 8}) {
    all_well(world, [](int rank, c10d::ProcessGroup& group) {
      const auto arena = arena_in(group, 16 << 20);
      for (const std::int64_t size : {2048, 20011, 500009, 1 << 20}) {
        for (const auto type : {at::kFloat, at::kBFloat16, at::kDouble}) {
          for (const auto op : {c10d::ReduceOp::SUM, c10d::ReduceOp::AVG, c10d::ReduceOp::MAX}) {
            const Tensor mine = order_values(rank, size, type);
            const Tensor inside = made_in(arena, mine);
            require(is_in(*arena, inside), "the tensor in the arena");
            require(at::equal(summed(group, inside, op), summed(group, mine, op)), "the same bits");
          }
        }
      }
    });
  }
}

TEST_CASE("a sum is right if only some ranks' tensors lie in the arena, and for a view") {
  all_well(3, [](int rank, c10d::ProcessGroup& group) {
    const auto arena = arena_in(group, 8 << 20);
    for (int elsewhere = 0; elsewhere < 3; ++elsewhere) {
      const Tensor mine = order_values(rank, 300007, at::kFloat);
      const Tensor mixed = rank == elsewhere ? mine.clone() : made_in(arena, mine);
      require(at::equal(summed(group, mixed), summed(group, mine)), "the same bits");
    }
    // At another offset on each rank.
    const Tensor whole = made_in(arena, at::zeros({400000}));
    const Tensor view = whole.narrow(0, 1000 * rank, 300007);
    const Tensor mine = order_values(rank, 300007, at::kFloat);
    view.copy_(mine);
    require(at::equal(summed(group, view), summed(group, mine)), "the same bits in a view");
    require(whole.count_nonzero().item<std::int64_t>() == view.count_nonzero().item<std::int64_t>(),
            "nothing beside it");
  });
}

TEST_CASE("each rank's share of an average has the bits of the whole average, in the arena and elsewhere") {
  all_well(3, [](int rank, c10d::ProcessGroup& group) {
    const auto arena = arena_in(group, 8 << 20);
    const Group shared(&group, [](c10d::ProcessGroup*) {});
    constexpr std::int64_t kSize = 300007;
    for (int elsewhere = 0; elsewhere <= 3; ++elsewhere) {
      const Tensor mine = order_values(rank, kSize, at::kFloat);
      const Tensor whole = summed(group, mine * (1.0 / 3));
      const Tensor shares = rank == elsewhere ? mine.clone() : made_in(arena, mine);
      const Range first = range_of(100000, rank, 3);
      Range second = range_of(kSize - 100000, rank, 3);
      second.from += 100000;
      average_shares(shared, shares, {first, second});
      for (const Range& own : {first, second}) {
        require(at::equal(shares.narrow(0, own.from, own.count), whole.narrow(0, own.from, own.count)),
                "the same bits");
      }
    }
  });
}

TEST_CASE("common memory is the same on every rank and beside the ranks' parts") {
  all_well(3, [](int rank, c10d::ProcessGroup& group) {
    const auto arena = arena_in(group, 1 << 20);
    barrier(Group(&group, [](c10d::ProcessGroup*) {}));
    const Tensor own = made_in(arena, at::full({200 << 10}, rank));
    const auto common = arena->common(5000);
    require(common != nullptr && common.get()[4999] == std::byte{0}, "memory of zeros");
    common.get()[rank] = std::byte(rank + 1);
    barrier(Group(&group, [](c10d::ProcessGroup*) {}));
    for (int r = 0; r < 3; ++r)
      require(common.get()[r] == std::byte(r + 1), "what rank " + std::to_string(r) + " wrote");
    require(at::equal(own, at::full({200 << 10}, rank)), "the rank's own tensor");
  });
}

TEST_CASE(
    "data that goes to or comes from one rank is right in the arena, and if a rank's data or arena is elsewhere") {
  constexpr std::int64_t kSize = 300007;
  constexpr int kNobody = 3;
  all_well(3, [](int rank, c10d::ProcessGroup& group) {
    // Rank 1 has no arena yet.
    const auto arena = rank == 1 ? arena_of(Group(&group, [](c10d::ProcessGroup*) {})) : arena_in(group, 8 << 20);
    for (int round = 0; round < 2; ++round) {
      for (int elsewhere = 0; elsewhere <= kNobody; ++elsewhere) {
        const Tensor mine = order_values(rank, kSize, at::kFloat);
        const Tensor sum = order_values(0, kSize, at::kFloat) + order_values(1, kSize, at::kFloat) +
                           order_values(2, kSize, at::kFloat);
        for (int root = 0; root < 3; ++root) {
          std::vector<Tensor> tensors{rank == elsewhere ? mine.clone() : made_in(arena, mine)};
          group.reduce(tensors, {.rootRank = root})->wait();
          if (rank == root) require(at::equal(tensors[0], sum), "the sum on its root");
          tensors[0].copy_(mine);
          group.broadcast(tensors, {.rootRank = root})->wait();
          require(at::equal(tensors[0], order_values(root, kSize, at::kFloat)), "the root's data");
        }
      }
      // Now it has one.
      if (rank == 1) arena->reserve(8 << 20);
    }
  });
}

TEST_CASE(
    "the arena's space is used again once all of its tensors are gone, and a tensor without space lies elsewhere") {
  all_well(2, [](int, c10d::ProcessGroup& group) {
    const auto arena = arena_in(group, 1 << 20);
    const Tensor big = at::zeros({200 << 10});  // 800 KiB
    for (int i = 0; i < 3; ++i) {
      const Tensor first = made_in(arena, big);
      const Tensor second = made_in(arena, big);
      require(is_in(*arena, first) && !is_in(*arena, second), "room for one");
      require(!is_in(*arena, big.clone()), "only tensors made for the arena");
    }
  });
}

TEST_CASE("a tensor for which the kernel has no pages in the arena lies elsewhere") {
  all_well(1, [](int, c10d::ProcessGroup&) {
    const bool mounted = unshare(CLONE_NEWNS) == 0 && mount("none", "/", nullptr, MS_REC | MS_PRIVATE, nullptr) == 0 &&
                         mount("none", "/mnt", "tmpfs", 0, "size=1m") == 0;
    if (!mounted && errno == EPERM) return;  // without a mount no small file system can fill up
    require(mounted, "a small file system of its own");
    const FileDescriptor file(open("/mnt", O_TMPFILE | O_RDWR | O_CLOEXEC, 0600));
    const auto arena = std::make_shared<SharedArena>(file.get(), 0, 1);
    arena->reserve(8 << 20);
    const Tensor little = made_in(arena, at::ones({100 << 10}));  // 400 KiB
    const Tensor much = made_in(arena, at::ones({1 << 20}));      // 4 MiB
    const Tensor little_more = made_in(arena, at::ones({100 << 10}));
    require(is_in(*arena, little) && !is_in(*arena, much) && is_in(*arena, little_more), "tensors with pages");
    for (const Tensor& tensor : {little, much, little_more}) {
      require(tensor.sum().item<float>() == static_cast<float>(tensor.numel()), "all values are present");
    }
  });
}

}  // namespace ddp::dist
