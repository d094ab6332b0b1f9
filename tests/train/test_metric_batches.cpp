#include <cmath>
#include <functional>
#include <limits>
#include <random>
#include <thread>

#include <ATen/ops/arange.h>
#include <ATen/ops/tensor.h>

#include "catch.h"
#include "errors.h"
#include "train/metrics/measures.h"
#include "train/metrics/merge.h"
#include "train/metrics/scores.h"
#include "train/thread_group.h"
#include "words.h"

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

TEST_CASE("the default accuracy is left out if a target is not a class of the model") {
  const Measures measures(experiment_of(nullptr, "cross_entropy"));
  const at::Tensor output = doubles_of({0, 1, 1, 0}, {2, 2});
  CHECK_NOTHROW(measures.require(Answers{output, indices_of({255, 1})}, {}, {}));
  std::vector<Statistics> all(1);
  measures.add(Answers{output, indices_of({0, 1})}, {}, {}, all);
  measures.add(Answers{output, indices_of({255, 1})}, {}, {}, all);
  Merge(nullptr).left_out(all);
  CHECK(all[0].empty());
}

TEST_CASE("a listed metric is refused if a target is not a class of the model") {
  const Measures measures(experiment_of({"accuracy"}, "cross_entropy"));
  const at::Tensor output = doubles_of({0, 1, 1, 0}, {2, 2});
  const std::string error = error_of([&] { measures.require(Answers{output, indices_of({255, 1})}, {}, {}); });
  CHECK(contains(error, "a target is class 255, and the model knows 2 classes"));
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
  std::vector<Ranking> pairs[2];
  as_two_ranks([&](int rank, const Merge& merge) {
    std::vector<Statistics> all(1);
    all[0].add_score(0, 2, 0.5, rank == 0);
    // The second class has more scores than the first, and the other rank has fewer.
    for (int i = 0; i < (rank == 0 ? 1000 : 10); ++i) all[0].add_score(1, 2, i, i % 2 == 0);
    merge.rankings(all);
    pairs[rank] = all[0].rankings();
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

TEST_CASE("a batch of many targets, measured piece by piece, gives one part, and batches are joined into one") {
  // 3 rows of 700,000 targets are three pieces; errors are 1, 2 and 3, targets 0, 1 and 2.
  const at::Tensor target = at::arange(3, at::kDouble).unsqueeze(1).expand({3, 700000});
  const at::Tensor output = target + target + 1;
  struct Expected {
    const char* metric;
    std::size_t numbers;
    double value;
  };
  for (const auto& [metric, numbers, value] :
       {Expected{"mae", 2, 2}, Expected{"mse", 2, 14.0 / 3}, Expected{"rmse", 700001, std::sqrt(14.0 / 3)},
        Expected{"r2", 6 * 700000, 1 - 14.0 / 2}}) {
    const Measures measures(experiment_of({metric}, "mse"));
    const Metric& one = *measures.metrics()[0].metric;
    std::vector<Statistics> all(1);
    for (int batch = 0; batch < 2; ++batch) {
      measures.add(Answers{output, target}, {}, {}, all);
      CHECK(all[0].parts().size() == static_cast<std::size_t>(batch) + 1);
    }
    Merge::join_parts(one, all[0]);
    REQUIRE(all[0].parts().size() == 1);
    CHECK(all[0].parts()[0].size() == numbers);
    CHECK(std::abs(one.value(all[0]) - value) < 1e-9);
  }
}

TEST_CASE("mae and rmse are measured for each of several targets, too") {
  for (const auto& [metric, expected] :
       {std::pair("mae", std::vector<double>{2, 1.5}), std::pair("rmse", std::vector<double>{std::sqrt(5), 1.5})}) {
    const Measures measures(experiment_of({metric}, "mse"), {{"targets", {"price", "weight"}}});
    std::vector<Statistics> all(1);
    measures.add(Answers{doubles_of({1, 1.5}, {1, 2}), doubles_of({0, 0}, {1, 2})}, {}, {}, all);
    measures.add(Answers{doubles_of({3, -1.5}, {1, 2}), doubles_of({0, 0}, {1, 2})}, {}, {}, all);
    Merge::join_parts(*measures.metrics()[0].metric, all[0]);
    CHECK(measures.metrics()[0].metric->values_of_targets(all[0]) == expected);
  }
}

TEST_CASE("batches with unequal numbers of targets are measured over all targets, or refused") {
  const auto measured = [](const char* metric) {
    const Measures measures(experiment_of({metric}, "mse"));
    std::vector<Statistics> all(1);
    measures.add(Answers{doubles_of({1, 1}, {1, 2}), doubles_of({0, 0}, {1, 2})}, {}, {}, all);
    measures.add(Answers{doubles_of({4}, {1, 1}), doubles_of({0}, {1, 1})}, {}, {}, all);
    Merge::join_parts(*measures.metrics()[0].metric, all[0]);
    return measures.metrics()[0].metric->value(all[0]);
  };
  CHECK(measured("mae") == 2);
  CHECK(measured("mse") == 6);
  CHECK(contains(error_of([&] { measured("rmse"); }), "the number of targets of a sample varies"));
  CHECK(contains(error_of([&] { measured("r2"); }), "the number of targets of a sample varies"));
}

TEST_CASE(
    "the order of classes that a device finds equals the order of the probabilities, if the device is sure of it") {
  const double infinite = std::numeric_limits<double>::infinity();
  std::mt19937 draw(1);
  // Ties, outputs that are too close to decide, and outputs whose probability is 0 or NaN.
  const double drawn[] = {0, 0, 1, 1 + 1e-15, 1e-20, -1, 2, 3, -700, -2000, infinite, -infinite, NAN};
  const std::int64_t rows = 4000;
  const std::int64_t columns = 5;
  std::vector<double> values;
  std::vector<std::int64_t> right;
  for (std::int64_t row = 0; row < rows; ++row) {
    // In most rows nothing makes a device unsure.
    const std::size_t kinds = row % 2 == 0 ? 3 : std::size(drawn);
    for (std::int64_t c = 0; c < columns; ++c) values.push_back(drawn[draw() % kinds]);
    right.push_back(draw() % columns);
  }
  const at::Tensor outputs = doubles_of(values, {rows, columns});
  const Scores scores(outputs, indices_of(right), {.kind = OutputKind::logits});
  const auto compare = [&](const RowOrder& order, const std::vector<std::int64_t>& expected) {
    std::int64_t sure = 0;
    for (std::int64_t row = 0; row < rows; ++row) {
      if (order.unsure.const_data_ptr<bool>()[row]) continue;
      ++sure;
      REQUIRE(order.value.const_data_ptr<std::int64_t>()[row] == expected[row]);
    }
    CHECK(sure >= rows / 2);
    CHECK(sure < rows);
  };
  compare(most_probable(outputs), scores.predicted());
  compare(classes_before(outputs, indices_of(right)), scores.before_right());
}

}  // namespace ddp::train
