#include "train/evaluation_curves.h"

#include <ATen/ops/arange.h>
#include <ATen/ops/tensor.h>
#include <ATen/ops/zeros.h>

#include "catch.h"

namespace ddp::train {
namespace {

// Samples with these targets.
class KnownTargets : public datasets::MapDataset {
 public:
  explicit KnownTargets(at::Tensor targets) : targets_(std::move(targets)) {}
  std::int64_t size() const override { return targets_.size(0); }
  datasets::Batch gather(const at::Tensor& indices, std::int64_t) const override {
    return {indices.clone(), targets_.index_select(0, indices)};
  }

 private:
  const at::Tensor targets_;
};

data::EvaluationSet set_of(const KnownTargets& dataset, std::int64_t batch_size) {
  return {.dataset = &dataset, .samples = at::arange(dataset.size(), at::kLong), .batch_size = batch_size};
}

Measures measures_of(const std::string& loss) {
  config::Experiment e;
  e.metrics = config::Value::array();
  e.loss.name = loss;
  return Measures(e);
}

}  // namespace

TEST_CASE("the largest errors name their samples, and a batch without all of its samples names none") {
  const at::Tensor targets = at::tensor({0, 1, 1, 0, 1}, at::kLong);
  const KnownTargets dataset(targets);
  const data::EvaluationSet set = set_of(dataset, 3);
  const Measures measures = measures_of("cross_entropy");
  const at::Tensor outputs = at::tensor({1., 0., 3., 0., 0., 1., 0., 2., 2., 0.}, at::kDouble).view({5, 2});
  EvaluationCurves curves(set, measures);
  CHECK(curves.any());
  const auto first = curves.of_batch(outputs.slice(0, 0, 3), targets.slice(0, 0, 3), 0);
  const auto last = curves.of_batch(outputs.slice(0, 3, 5), targets.slice(0, 3, 5), 3);
  CHECK(curves.of_batch(outputs.slice(0, 0, 2), targets.slice(0, 0, 2), 0).empty());
  curves.take({first, last});
  const config::Value result = curves.result(nullptr);
  CHECK(result.at("confusion") == config::Value{{1, 1}, {2, 1}});
  CHECK(result.at("worst").at("row") == config::Value{1, 3, 4});
  CHECK(result.at("roc").at("tpr").back() == 1.0);
}

TEST_CASE("targets of many numbers, or one for each token, have no curves") {
  const Measures measures = measures_of("mse");
  for (const at::Tensor& targets : {at::zeros({4, 17}), at::zeros({4, 3, 3}), at::zeros({4, 8}, at::kLong)}) {
    const KnownTargets dataset(targets);
    const data::EvaluationSet set = set_of(dataset, 4);
    EvaluationCurves curves(set, measures);
    CHECK_FALSE(curves.any());
    CHECK(curves.of_batch(targets.to(at::kFloat), targets, 0).empty());
  }
}

}  // namespace ddp::train
