#include <algorithm>
#include <cmath>
#include <random>

#include <ATen/ops/tensor.h>

#include "catch.h"
#include "config/metric.h"
#include "errors.h"
#include "train/metrics/measures.h"
#include "train/metrics/merge.h"
#include "words.h"

namespace ddp::train {
namespace {

struct TargetsOptions {
  void fields(config::Fields&) {}
};

// A user's own metric: the number of targets.
class Targets final : public Metric {
 public:
  void add(const Scores& batch, Statistics& statistics) const override {
    statistics.add_part({static_cast<double>(batch.rows())});
  }
  double value(const Statistics& all) const override {
    double rows = 0;
    for (const auto& part : all.parts()) rows += part[0];
    return rows;
  }
};

const bool targets_registered = metrics().add<TargetsOptions>(
    "test_targets", "of this test", [](const TargetsOptions&) { return std::make_unique<Targets>(); },
    {{"direction", "less"}});

config::Components registered() {
  config::Components components;
  for (config::Spec& spec : metrics().specs()) components.add(metrics().kind(), std::move(spec));
  return components;
}

at::Tensor numbers(std::vector<double> values, at::IntArrayRef sizes) {
  return at::tensor(values, at::kDouble).reshape(sizes);
}

at::Tensor classes(std::vector<std::int64_t> values, at::IntArrayRef sizes) {
  return at::tensor(values, at::kLong).reshape(sizes);
}

struct TestBatch {
  at::Tensor output;
  at::Tensor target;
};

config::Experiment experiment_with(const std::string& metric, const std::string& loss = "cross_entropy") {
  config::Experiment e;
  e.metrics = {metric};
  e.loss.name = loss;
  return e;
}

// The statistics of a metric over some batches, as one rank gathers them.
std::vector<Statistics> statistics_of(const Measures& measures, const std::vector<TestBatch>& batches) {
  std::vector<Statistics> all(measures.metrics().size());
  for (const TestBatch& batch : batches) measures.add(Answers{batch.output, batch.target}, {}, {}, all);
  for (std::size_t i = 0; i < all.size(); ++i) Merge::join_parts(*measures.metrics()[i].metric, all[i]);
  const Merge merge(nullptr);
  merge.left_out(all);
  merge.counts(all);
  merge.rankings(all);
  return all;
}

double value_of(const std::string& metric, const std::vector<TestBatch>& batches,
                const std::string& loss = "cross_entropy") {
  const Measures measures(experiment_with(metric, loss));
  return measures.metrics()[0].metric->value(statistics_of(measures, batches)[0]);
}

// Outputs whose softmax is p.
at::Tensor logits(std::vector<double> p, at::IntArrayRef sizes) {
  for (double& one : p) one = std::log(one);
  return numbers(std::move(p), sizes);
}

}  // namespace

TEST_CASE("a metric that registers itself is measured, can be chosen, and has its direction") {
  REQUIRE(targets_registered);
  const config::Components components = registered();
  const auto names = config::metric_names(components);
  const auto has = [&](const std::string& name) { return std::find(names.begin(), names.end(), name) != names.end(); };
  CHECK(has("val_test_targets"));
  CHECK(has("val_auroc"));
  CHECK_FALSE(has("val_confusion"));
  CHECK(config::direction_of("val_test_targets", components) == config::Direction::less);
  CHECK(config::direction_of("val_accuracy", components) == config::Direction::greater);
  CHECK(config::direction_of("val_top5", components) == config::Direction::greater);
  CHECK(config::direction_of("val_perplexity", components) == config::Direction::less);
  CHECK(config::direction_of("val_loss", components) == config::Direction::less);
  CHECK(value_of("test_targets", {{numbers({1, 2}, {1, 2}), classes({0}, {1})}}) == 1);
}

TEST_CASE("a name with a number belongs to a family only if the family exists") {
  const config::Components components = registered();
  CHECK(config::find_metric("top5", components)->name == "topN");
  CHECK(config::find_metric("top1", components)->name == "topN");
  CHECK(config::find_metric("r2", components)->name == "r2");
  for (const char* name : {"top", "topN", "top0", "top05", "top-1", "r3", "5", "", "top99999999999999999999"}) {
    CHECK(config::find_metric(name, components) == nullptr);
  }
}

TEST_CASE(
    "the accuracy is the share of right classes over all batches, and the lowest class wins among equal outputs") {
  const TestBatch first{numbers({0, 1, 2, 2, 1, 0}, {2, 3}), classes({2, 1}, {2})};
  const TestBatch tied{numbers({1, 1, 0}, {1, 3}), classes({0}, {1})};
  CHECK(value_of("accuracy", {first, tied}) == 2.0 / 3.0);
}

TEST_CASE("outputs whose probabilities are equal in float64 count as equal") {
  // The second is greater, by less than float64 resolves after exp.
  CHECK(value_of("accuracy", {{numbers({0, 1e-20}, {1, 2}), classes({0}, {1})}}) == 1);
  CHECK(value_of("top1", {{numbers({0, 1e-20}, {1, 2}), classes({0}, {1})}}) == 1);
}

TEST_CASE("the accuracy of outputs with more dimensions counts each position") {
  // One sample, two classes, three positions.
  CHECK(value_of("accuracy", {{numbers({0, 1, 0, 1, 0, 1}, {1, 2, 3}), classes({1, 1, 1}, {1, 3})}}) == 2.0 / 3.0);
}

TEST_CASE("the accuracy of a text takes the classes from the last dimension") {
  // One sample, two positions, two classes: the first position is right.
  CHECK(value_of("accuracy", {{numbers({0, 1, 1, 0}, {1, 2, 2}), classes({1, 1}, {1, 2})}}) == 0.5);
}

TEST_CASE("targets that the loss ignores count in no metric") {
  const TestBatch batch{numbers({0, 1, 0, 1, 1, 0}, {3, 2}), classes({1, -100, 1}, {3})};
  CHECK(value_of("accuracy", {batch}) == 0.5);
  config::Experiment e = experiment_with("accuracy");
  e.loss.options["ignore_index"] = 1;
  const Measures measures(e);
  const TestBatch ignored{numbers({0, 1, 0, 1, 1, 0}, {3, 2}), classes({1, 0, 1}, {3})};
  CHECK(measures.metrics()[0].metric->value(statistics_of(measures, {ignored})[0]) == 0);
}

TEST_CASE("without the key metrics the accuracy is measured if targets are classes, and otherwise nothing") {
  config::Experiment e = experiment_with("accuracy", "mse");
  e.metrics = nullptr;
  CHECK(statistics_of(Measures(e), {{numbers({1, 2}, {2, 1}), numbers({1, 2}, {2, 1})}})[0].empty());
  e.loss.name = "cross_entropy";
  CHECK(statistics_of(Measures(e), {{numbers({1, 2}, {1, 2}), numbers({1, 0}, {1, 2})}})[0].empty());
  CHECK_FALSE(statistics_of(Measures(e), {{numbers({1, 2}, {1, 2}), classes({1}, {1})}})[0].empty());
}

TEST_CASE("a metric that does not fit loss and targets is refused with the metrics that do") {
  const Measures r2(experiment_with("r2"));
  const std::string error = error_of([&] {
    r2.require(Answers{numbers({1, 2, 3, 4}, {1, 4}), classes({1}, {1})}, {}, {});
  });
  CHECK(contains(error, "metrics for these targets: accuracy, auroc"));
  const Measures top(experiment_with("top2"));
  CHECK_THROWS_AS(top.require(Answers{numbers({1, 2}, {1, 2}), classes({1}, {1})}, {}, {}), Error);
  CHECK_NOTHROW(top.require(Answers{numbers({1, 2, 3}, {1, 3}), classes({1}, {1})}, {}, {}));
}

TEST_CASE("pair counts equal a comparison of each positive with each negative, with half for ties") {
  std::mt19937 draw(1);
  // Scores far apart, and scores that differ in their last bits only.
  const auto [first, apart, size] = GENERATE(table<double, double, std::size_t>(
      {{0, 1e-3, 1}, {0, 1e-3, 10}, {0, 1e-3, 500}, {0, 1e-3, 5000}, {0.5, 0x1p-50, 5000}}));
  std::vector<std::uint64_t> keys;
  std::vector<double> scores;
  std::vector<bool> positive;
  for (std::size_t i = 0; i < size; ++i) {
    scores.push_back(first + static_cast<double>(draw() % (size / 2 + 1)) * apart);
    positive.push_back(draw() % 3 == 0);
    keys.push_back(ranking_key(scores.back(), positive.back()));
  }
  std::int64_t wins = 0;
  for (std::size_t i = 0; i < size; ++i) {
    for (std::size_t j = 0; j < size; ++j) {
      if (positive[i] && !positive[j]) wins += scores[i] > scores[j] ? 2 : scores[i] == scores[j] ? 1 : 0;
    }
  }
  sort_keys(keys);
  const Ranking pairs = ranking_of(keys);
  CHECK(pairs.wins == wins);
  CHECK(pairs.positives == std::count(positive.begin(), positive.end(), true));
  CHECK(pairs.positives + pairs.negatives == static_cast<std::int64_t>(size));
}

TEST_CASE("the area under the curve has no value if a class is absent") {
  CHECK(value_of("auroc", {{logits({0.4, 0.6, 0.8, 0.2}, {2, 2}), classes({1, 0}, {2})}}) == 1);
  CHECK(std::isnan(value_of("auroc", {{logits({0.4, 0.6, 0.8, 0.2}, {2, 2}), classes({1, 1}, {2})}})));
  CHECK(std::isnan(value_of("auroc", {{numbers({0, NAN, 0, 1}, {2, 2}), classes({1, 0}, {2})}})));
}

TEST_CASE("r2 keeps its digits for targets far from zero and many batches") {
  // Targets 1e6 + k / 100, predictions off by 0.001: the variance and the errors are known.
  std::vector<TestBatch> batches;
  const int size = 101;
  for (int k = 0; k < size; ++k) {
    batches.push_back({numbers({k / 128.0 + 1e6 + 1.0 / 1024}, {1, 1}), numbers({k / 128.0 + 1e6}, {1, 1})});
  }
  const double squares = (size * (size * size - 1.0) / 12) / (128.0 * 128.0);
  CHECK(std::abs(value_of("r2", batches, "mse") - (1 - size / (1024.0 * 1024.0) / squares)) < 1e-12);
}

}  // namespace ddp::train
