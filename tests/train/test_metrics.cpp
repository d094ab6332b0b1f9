#include <algorithm>
#include <cmath>

#include <ATen/ops/tensor.h>

#include "catch.h"
#include "config/metric.h"
#include "train/metrics/metric.h"

namespace ddp::train {
namespace {

struct ErrorsOptions {
  void fields(config::Fields&) {}
};

// A user's own metric: how many targets there are.
class Errors final : public Metric {
 public:
  at::Tensor of_batch(const at::Tensor&, const at::Tensor& target) const override {
    return at::tensor({static_cast<double>(target.numel())}, at::kDouble);
  }
  double value(const std::vector<at::Tensor>& parts) const override { return static_cast<double>(parts.size()); }
};

const bool errors_registered = metrics().add<ErrorsOptions>(
    "test_errors", "of this test", [](const ErrorsOptions&) { return std::make_unique<Errors>(); },
    {{"direction", "less"}});

config::Components registered() {
  config::Components components;
  for (config::Spec& spec : metrics().specs()) components.add(metrics().kind(), std::move(spec));
  return components;
}

at::Tensor outputs(std::vector<double> values, at::IntArrayRef sizes) {
  return at::tensor(values, at::kDouble).reshape(sizes);
}

at::Tensor classes(std::vector<std::int64_t> values, at::IntArrayRef sizes) {
  return at::tensor(values, at::kLong).reshape(sizes);
}

}  // namespace

TEST_CASE("a metric that registers itself is measured, can be chosen, and tells its direction") {
  REQUIRE(errors_registered);
  const config::Components components = registered();
  const auto names = config::metric_names(components);
  CHECK(std::find(names.begin(), names.end(), "val_test_errors") != names.end());
  CHECK(config::direction_of("val_test_errors", components) == config::Direction::less);
  CHECK(config::direction_of("val_accuracy", components) == config::Direction::greater);
  CHECK(config::direction_of("val_loss", components) == config::Direction::less);
  bool measured = false;
  for (const auto& [name, metric] : all_metrics()) measured = measured || (name == "test_errors" && metric);
  CHECK(measured);
}

TEST_CASE("the accuracy is the share of right classes over all batches, and of equal outputs the lowest class counts") {
  const auto accuracy = metrics().build("accuracy", config::Value::object());
  const at::Tensor first = accuracy->of_batch(outputs({0, 1, 2, 2, 1, 0}, {2, 3}), classes({2, 1}, {2}));
  const at::Tensor tied = accuracy->of_batch(outputs({1, 1, 0}, {1, 3}), classes({0}, {1}));
  CHECK(accuracy->value({first, tied}) == 2.0 / 3.0);
}

TEST_CASE("the accuracy of outputs with more dimensions counts each position") {
  const auto accuracy = metrics().build("accuracy", config::Value::object());
  // One sample, two classes, three positions.
  const at::Tensor part = accuracy->of_batch(outputs({0, 1, 0, 1, 0, 1}, {1, 2, 3}), classes({1, 1, 1}, {1, 3}));
  CHECK(accuracy->value({part}) == 2.0 / 3.0);
}

TEST_CASE("the accuracy of a text takes the classes from the last dimension") {
  const auto accuracy = metrics().build("accuracy", config::Value::object());
  // One sample, two positions, two classes: the first position is right.
  const at::Tensor part = accuracy->of_batch(outputs({0, 1, 1, 0}, {1, 2, 2}), classes({1, 1}, {1, 2}));
  CHECK(accuracy->value({part}) == 0.5);
}

TEST_CASE("targets that are no classes have no accuracy") {
  const auto accuracy = metrics().build("accuracy", config::Value::object());
  const at::Tensor part = accuracy->of_batch(outputs({1, 2}, {2, 1}), outputs({1, 2}, {2, 1}));
  CHECK(part.numel() == 0);
  CHECK(std::isnan(accuracy->value({part})));
}

}  // namespace ddp::train
