#include <barrier>
#include <functional>
#include <thread>

#include <ATen/ops/tensor.h>
#include <torch/csrc/distributed/c10d/ProcessGroup.hpp>

#include "catch.h"
#include "errors.h"
#include "train/metrics/measures.h"
#include "train/metrics/merge.h"

namespace ddp::train {
namespace {

at::Tensor doubles_of(std::vector<double> values, at::IntArrayRef sizes) {
  return at::tensor(values, at::kDouble).reshape(sizes);
}

at::Tensor indices_of(std::vector<std::int64_t> values) { return at::tensor(values, at::kLong); }

config::Experiment experiment_of(const config::Value& metrics, const std::string& loss) {
  config::Experiment e;
  e.metrics = metrics;
  e.loss.name = loss;
  return e;
}

class NoWork final : public c10d::Work {
 public:
  bool wait(std::chrono::milliseconds) override { return true; }
};

// Two threads as ranks: each leaves its tensor where the other finds it.
struct Meeting {
  std::barrier<> both{2};
  at::Tensor sent[2];
};

class ThreadGroup final : public c10d::ProcessGroup {
 public:
  ThreadGroup(Meeting& meeting, int rank) : ProcessGroup(rank, 2), meeting_(meeting) {}

  c10::intrusive_ptr<c10d::Work> allgather(std::vector<std::vector<at::Tensor>>& outputs,
                                           std::vector<at::Tensor>& inputs, const c10d::AllgatherOptions&) override {
    meeting_.sent[getRank()] = inputs[0];
    meeting_.both.arrive_and_wait();
    for (int r = 0; r < 2; ++r) outputs[0][r].copy_(meeting_.sent[r]);
    meeting_.both.arrive_and_wait();
    return c10::make_intrusive<NoWork>();
  }

 private:
  Meeting& meeting_;
};

// Runs the body as two ranks, each with a Merge over both.
void as_two_ranks(const std::function<void(int rank, const Merge& merge)>& body) {
  Meeting meeting;
  const auto run = [&](int rank) {
    const auto group = c10::make_intrusive<ThreadGroup>(meeting, rank);
    body(rank, Merge(dist::Group(group.get(), [group](c10d::ProcessGroup*) {})));
  };
  std::thread other(run, 1);
  run(0);
  other.join();
}

}  // namespace

TEST_CASE("the accuracy that nobody asked for is left out where a target is no class of the model") {
  const Measures measures(experiment_of(nullptr, "cross_entropy"));
  const at::Tensor output = doubles_of({0, 1, 1, 0}, {2, 2});
  CHECK_NOTHROW(measures.require(output, indices_of({255, 1})));
  std::vector<Statistics> all(1);
  measures.add(output, indices_of({0, 1}), all);
  measures.add(output, indices_of({255, 1}), all);
  Merge(nullptr).left_out(all);
  CHECK(all[0].empty());
}

TEST_CASE("a metric that was asked for is refused where a target is no class of the model") {
  const Measures measures(experiment_of({"accuracy"}, "cross_entropy"));
  const at::Tensor output = doubles_of({0, 1, 1, 0}, {2, 2});
  const std::string error = error_of([&] { measures.require(output, indices_of({255, 1})); });
  CHECK(error.find("a target is class 255, and the model knows 2 classes") != std::string::npos);
}

TEST_CASE("a batch of one rank that does not fit leaves the metric out on all ranks") {
  bool empty[2] = {false, false};
  as_two_ranks([&](int rank, const Merge& merge) {
    std::vector<Statistics> all(1);
    ++*all[0].counts(1);
    if (rank == 1) all[0].leave_out();
    merge.left_out(all);
    merge.counts(all);
    empty[rank] = all[0].empty();
  });
  CHECK(empty[0]);
  CHECK(empty[1]);
}

TEST_CASE("classes with unequal numbers of scores are ranked over all ranks") {
  std::vector<RankedPairs> pairs[2];
  as_two_ranks([&](int rank, const Merge& merge) {
    std::vector<Statistics> all(1);
    all[0].add_score(0, 2, 0.5, rank == 0);
    // The second class has more scores than the first, and the other rank fewer.
    for (int i = 0; i < (rank == 0 ? 1000 : 10); ++i) all[0].add_score(1, 2, i, i % 2 == 0);
    merge.pairs(all);
    pairs[rank] = all[0].pairs();
  });
  for (const auto& one : pairs) {
    REQUIRE(one.size() == 2);
    CHECK(one[0].positives == 1);
    CHECK(one[0].negatives == 1);
    CHECK(one[0].wins == 1);
    CHECK(one[1].positives == 505);
    CHECK(one[1].negatives == 505);
  }
}

}  // namespace ddp::train
