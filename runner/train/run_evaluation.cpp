#include "train/run_evaluation.h"

#include <utility>

#include "config/metric.h"
#include "model/numerics.h"
#include "train/evaluate.h"

namespace ddp::train {

RunEvaluation::RunEvaluation(RunEvaluationParts parts) : p_(std::move(parts)), measures_(p_.experiment) {}

record::MetricValues RunEvaluation::validate(const data::EvaluationSet& set, std::int64_t step) {
  const Ema::InPlace averaged(p_.ema);
  return measure(set, config::kValidationPrefix, step);
}

record::MetricValues RunEvaluation::test(const data::EvaluationSet& set, std::int64_t step) {
  return measure(set, config::kTestPrefix, step);
}

record::MetricValues RunEvaluation::measure(const data::EvaluationSet& set, const std::string& prefix,
                                            std::int64_t step) {
  Measured measured = evaluate({.model = p_.model,
                                .group = p_.group,
                                .loss = p_.loss,
                                .measures = measures_,
                                .set = set,
                                .device = p_.device,
                                .batch_done = p_.batch_done,
                                .numerics = model::Numerics::of(p_.experiment)});
  for (record::MetricValue& one : measured.values) one.name.insert(0, prefix);
  if (p_.recorder && measured.nan_samples > 0) p_.recorder->warn(measured.warning(prefix));
  if (p_.recorder && !measured.matrices.empty()) {
    config::Value matrices = config::Value::object();
    for (const auto& [name, rows] : measured.matrices.items()) matrices[prefix + name] = rows;
    p_.recorder->matrices(matrices, step);
  }
  return std::move(measured.values);
}

}  // namespace ddp::train
