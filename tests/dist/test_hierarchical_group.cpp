#include <signal.h>
#include <unistd.h>
#include <functional>

#include <ATen/Functions.h>
#include <ATen/core/grad_mode.h>
#include <torch/csrc/autograd/variable.h>

#include "catch.h"
#include "dist/process_group.h"
#include "dist/shm/arena.h"
#include "dist/watched_group.h"
#include "shared_ranks.h"
#include "words.h"

namespace ddp::dist {
namespace {

using at::Tensor;

constexpr int kRanks = 4;
constexpr int kMachines = 2;

// Numbers whose sums have other bits in every order.
Tensor machine_values(int rank, std::int64_t size, at::ScalarType type = at::kFloat) {
  at::manual_seed(static_cast<std::uint64_t>(rank + 1));
  return at::randn({size}).to(type);
}

// Each machine's ranks first, then the machines.
Tensor expected_sum(std::int64_t size, at::ScalarType type = at::kFloat) {
  return (machine_values(0, size, type) + machine_values(1, size, type)) +
         (machine_values(2, size, type) + machine_values(3, size, type));
}

// Runs the body inside a backward pass.
void in_backward(const std::function<void()>& body) {
  const at::AutoGradMode recorded(true);  // also if this is nested in another one
  const Tensor x = at::ones({4}).requires_grad_();
  x.register_hook([&](const Tensor& gradient) {
    body();
    return gradient;
  });
  x.sum().backward();
}

c10::intrusive_ptr<c10d::Work> begin_sum(c10d::ProcessGroup& group, const Tensor& tensor) {
  std::vector<Tensor> tensors{tensor};
  return group.allreduce(tensors);
}

void sum_over_machines(c10d::ProcessGroup& group, const Tensor& tensor,
                       const c10d::ReduceOp& op = c10d::ReduceOp::SUM) {
  std::vector<Tensor> tensors{tensor};
  c10d::AllreduceOptions options;
  options.reduceOp = op;
  group.allreduce(tensors, options)->wait();
}

}  // namespace

TEST_CASE("ranks of two machines sum in their shared memory first, and all have the same sum") {
  CHECK(all_well(
      kRanks,
      [](int rank, c10d::ProcessGroup& group) {
        for (const auto type : {at::kFloat, at::kDouble, at::kLong}) {
          for (const std::int64_t size : {1, 1000, 300000}) {
            const Tensor sum = machine_values(rank, size, type);
            sum_over_machines(group, sum);
            require(sum.equal(expected_sum(size, type)), "the sum of " + std::to_string(size));
          }
        }
      },
      kMachines));
}

TEST_CASE("machines may have any number of ranks") {
  CHECK(all_well(
      6,
      [](int rank, c10d::ProcessGroup& group) {
        for (const std::int64_t size : {10, 100003}) {
          const auto of_machine = [&](int first) {
            return (machine_values(first, size) + machine_values(first + 1, size)) + machine_values(first + 2, size);
          };
          const Tensor sum = machine_values(rank, size);
          sum_over_machines(group, sum);
          require(sum.equal(of_machine(0) + of_machine(3)), "the sum of " + std::to_string(size));
        }
      },
      2));
  CHECK(all_well(
      2,
      [](int rank, c10d::ProcessGroup& group) {
        const Tensor sum = machine_values(rank, 1000);
        sum_over_machines(group, sum);
        require(sum.equal(machine_values(0, 1000) + machine_values(1, 1000)), "the sum");
      },
      2));
}

TEST_CASE("sums complete in the order of their start for any order of waits, also where one backward is in another") {
  CHECK(all_well(
      kRanks,
      [](int rank, c10d::ProcessGroup& group) {
        const Tensor first = machine_values(rank, 1000);
        const Tensor second = machine_values(rank, 200000);
        in_backward([&] {
          const auto work = begin_sum(group, first);
          begin_sum(group, second)->wait();
          require(work->isCompleted(), "the first is done before the second");
        });
        require(first.equal(expected_sum(1000)) && second.equal(expected_sum(200000)), "the sums");
        const Tensor outer = machine_values(rank, 1000);
        const Tensor inner = machine_values(rank, 200000);
        in_backward([&] {
          const auto work = begin_sum(group, outer);
          in_backward([&] { begin_sum(group, inner); });
          require(work->isCompleted(), "the outer one's is done with the inner one's");
        });
        require(outer.equal(expected_sum(1000)) && inner.equal(expected_sum(200000)), "the sums");
      },
      kMachines));
}

TEST_CASE("large sums of two machines are computed in place in the buckets, with the same bits") {
  CHECK(all_well(
      kRanks,
      [](int rank, c10d::ProcessGroup& group) {
        const auto arena = arena_of(Group(&group, [](c10d::ProcessGroup*) {}));
        require(arena != nullptr && arena->exists(), "an arena");
        arena->reserve(4u << 20);
        const SharedArena::Use in_arena(arena);
        const Tensor sum = machine_values(rank, 300000).clone();
        require(arena->place_of(static_cast<const std::byte*>(sum.const_data_ptr()), sum.nbytes()).has_value(),
                "in it");
        for (int i = 0; i < 3; ++i) {
          sum.copy_(machine_values(rank, 300000));
          sum_over_machines(group, sum);
          require(sum.equal(expected_sum(300000)), "the sum");
        }
      },
      kMachines));
}

TEST_CASE("collectives other than sums run over Gloo among the ranks of all machines") {
  CHECK(all_well(
      kRanks,
      [](int rank, c10d::ProcessGroup& group) {
        const Tensor most = at::full({5}, rank);
        sum_over_machines(group, most, c10d::ReduceOp::MAX);
        require(most.eq(3).all().item<bool>(), "the greatest");
        std::vector<Tensor> sent{at::full({5}, rank)};
        group.broadcast(sent, {.rootRank = 2})->wait();
        require(sent[0].eq(2).all().item<bool>(), "the data of rank 2");
        std::vector<std::vector<Tensor>> all(1);
        for (int r = 0; r < kRanks; ++r) all[0].push_back(at::empty({5}, at::kLong));
        std::vector<Tensor> mine{at::full({5}, rank, at::kLong)};
        group.allgather(all, mine)->wait();
        for (int r = 0; r < kRanks; ++r) require(all[0][r].eq(r).all().item<bool>(), "the data of each rank");
      },
      kMachines));
}

TEST_CASE("a sum started in backward is complete at the end of backward") {
  CHECK(all_well(
      kRanks,
      [](int rank, c10d::ProcessGroup& group) {
        const Tensor first = machine_values(rank, 1000);
        const Tensor second = machine_values(rank, 200000);
        std::vector<c10::intrusive_ptr<c10d::Work>> works;
        bool waits = true;
        in_backward([&] {
          for (const Tensor& tensor : {first, second}) {
            works.push_back(begin_sum(group, tensor));
            waits = waits && !works.back()->isCompleted();
          }
        });
        require(waits && works.size() == 2, "two that wait for the end of backward");
        for (const auto& work : works) require(work->isCompleted() && work->getFuture()->completed(), "done");
        require(first.equal(expected_sum(1000)) && second.equal(expected_sum(200000)), "the sums");
      },
      kMachines));
}

TEST_CASE("sums that a replay starts meet those of another rank's backward") {
  CHECK(all_well(
      kRanks,
      [](int rank, c10d::ProcessGroup& group) {
        std::vector<Tensor> first{machine_values(rank, 1000)}, second{machine_values(rank, 200000)};
        if (rank % 2 == 0) {
          in_backward([&] {
            group.allreduce(first);
            group.allreduce(second);
          });
        } else {
          auto& watched = dynamic_cast<WatchedGroup&>(group);
          const auto works = {watched.start(first), watched.start(second)};
          for (const auto& work : works) watched.finish(*work);
        }
        require(first[0].equal(expected_sum(1000)) && second[0].equal(expected_sum(200000)), "the sums");
      },
      kMachines));
}

TEST_CASE("a rank that dies is named by its global rank") {
  SharedRanks ranks(
      kRanks,
      [](int rank, c10d::ProcessGroup& group) {
        const Tensor sum = machine_values(rank, 10);
        sum_over_machines(group, sum);
        if (rank == 3) raise(SIGKILL);
        sum_over_machines(group, sum);
      },
      std::chrono::seconds(100), kMachines);
  const std::string answer = ranks.answer(2);
  INFO(answer);
  CHECK(contains(answer, "rank 3 is gone"));
}

}  // namespace ddp::dist
