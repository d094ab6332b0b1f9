#include "rank/verbs.h"

#include <cmath>

#include <ATen/CPUGeneratorImpl.h>
#include <ATen/core/grad_mode.h>
#include <ATen/ops/arange.h>
#include <ATen/ops/randperm.h>
#include <c10/util/StringUtil.h>
#include <torch/nn/module.h>
#include <nlohmann/json.hpp>

#include "base/error.h"
#include "datasets/table/encoder.h"
#include "model/batch_sizes.h"
#include "model/call.h"
#include "rank/process.h"
#include "train/evaluate.h"
#include "train/replay/recorded_forward.h"

namespace ddp::rank {
namespace {

// Samples that have the cells of others in some columns.
class Shuffled final : public datasets::MapDataset {
 public:
  // `others`: int64 [samples of the dataset].
  Shuffled(const datasets::MapDataset& of, datasets::EncodedColumns columns, at::Tensor others)
      : of_(of), columns_(std::move(columns)), others_(std::move(others)) {}

  std::int64_t size() const override { return of_.size(); }
  bool in_memory() const override { return of_.in_memory(); }
  datasets::Batch gather(const at::Tensor& indices, std::int64_t epoch) const override {
    datasets::Batch batch = of_.gather(indices, epoch);
    const datasets::Batch from = of_.gather(others_.index_select(0, indices), epoch);
    const auto cells = [&](const datasets::Batch& one) {
      return one.inputs.at(columns_.input).second.narrow(1, columns_.begin, columns_.count);
    };
    cells(batch).copy_(cells(from));
    return batch;
  }

 private:
  const datasets::MapDataset& of_;
  const datasets::EncodedColumns columns_;
  const at::Tensor others_;
};

// Returns for each sample of a set another one of it, drawn without replacement.
at::Tensor others_in(const data::EvaluationSet& set, std::uint64_t seed) {
  const at::Generator generator = at::detail::createCPUGenerator(seed);
  const at::Tensor order = at::randperm(set.samples.size(0), generator, at::TensorOptions(at::kLong));
  at::Tensor others = at::arange(set.dataset->size(), at::kLong);
  others.index_copy_(0, set.samples, set.samples.index_select(0, order));
  return others;
}

class Evaluation {
 public:
  Evaluation(const Task& t, const dist::Groups& groups, bool raw)
      : t_(t),
        groups_(groups),
        saved_(checkpoint::load(t.resume_from)),
        model_(build_parallel(t, groups.main, &saved_, raw)),
        loss_(train::loss_for(*t.experiment, *model_->module().ptr())),
        measures_(*t.experiment, t.preprocessing) {}

  void add(const std::optional<data::EvaluationSet>& set, const std::string& prefix, Measurement& measurement) const {
    if (!set) return;
    const auto measured = measure(*set);
    for (const auto& [name, value] : measured.values) measurement.values[prefix + name] = value;
    for (const auto& [name, rows] : measured.matrices.items()) measurement.values[prefix + name] = rows;
    if (measured.nan_samples > 0) measurement.warnings.push_back(measured.warning(prefix));
    if (!measured.not_replayed.empty()) measurement.warnings.push_back(measured.not_replayed);
  }

  // Breiman 2001; the definition is that of permutation_importance of scikit-learn.
  void add_importances(const data::EvaluationSet& set, const EvaluateRequest& request, double value,
                       Measurement& measurement) const {
    std::uint64_t seed = 0;
    for (const auto& columns : datasets::encoded_columns(datasets::encoder_from_json(t_.preprocessing))) {
      Measurement::Importance& importance = measurement.importances.emplace_back();
      importance.column = columns.name;
      for (std::int64_t repeat = 0; repeat < request.repeats; ++repeat) {
        const Shuffled shuffled(*set.dataset, columns, others_in(set, seed++));
        data::EvaluationSet other = set;
        other.dataset = &shuffled;
        const double worse = record::value_of(measure(other).values, request.metric);
        if (!std::isfinite(worse)) {
          throw training_error("has no finite value when the column \"" + columns.name + "\" is shuffled",
                               request.metric);
        }
        importance.values.push_back(request.greater ? value - worse : worse - value);
      }
    }
  }

  // Throws ddp::Error (usage) if the model does not accept the samples of the set, or the loss their targets.
  // `dataset`, `section`: of the set.
  void require_fit(const std::optional<data::EvaluationSet>& set, const config::Component& dataset,
                   const std::string& section) const {
    if (!set) return;
    const auto* const limited = dynamic_cast<const model::LimitsBatches*>(model_->module().ptr().get());
    const std::int64_t tried = limited == nullptr ? 1 : limited->batch_sizes().least;
    if (set->samples.size(0) < tried) return;
    const datasets::Batch batch = set->dataset->gather(set->samples.narrow(0, 0, tried), /*epoch=*/0);
    if (batch.samples() == 0) return;
    const model::Numerics numerics = model::Numerics::of(*t_.experiment);
    const at::NoGradGuard no_grad;
    model_->module().ptr()->eval();
    NamedTensors outputs;
    try {
      const model::Autocast casts(numerics.precision, first_device(t_));
      outputs = model::call(model_->module(), loss_.model_inputs(batch, numerics, first_device(t_)));
    } catch (const Error& error) {
      throw usage_error(path_of(dataset) + " gives samples of shape " +
                            c10::str(batch.inputs.front().second.sizes().slice(1)) + ": " + error.summary(),
                        section, error.remedy());
    } catch (const c10::OutOfMemoryError&) {
      throw;
    } catch (const c10::NotImplementedError&) {
      throw;
    } catch (const c10::Error& error) {
      throw usage_error(path_of(dataset) + " gives samples of shape " +
                            c10::str(batch.inputs.front().second.sizes().slice(1)) + ", which the model \"" +
                            t_.experiment->model.name + "\" does not accept: " + error.msg(),
                        section, "give samples of the shape that the model was trained on");
    }
    if (t_.rank > 0) return;
    if (loss_.graph() != nullptr) return;
    require_targets(loss_.check_targets(model::main_output(outputs), train::only_target(batch.targets)), *set->dataset,
                    set->samples);
  }

 private:
  train::Measured measure(const data::EvaluationSet& set) const {
    return train::evaluate({.model = *model_,
                            .group = groups_.main,
                            .loss = loss_,
                            .measures = measures_,
                            .scalars = loss_.scalar_names(*model_->module().ptr()),
                            .set = set,
                            .device = first_device(t_),
                            .batch_done = [this] { t_.progress->rank(t_.rank).note_activity(); },
                            .numerics = model::Numerics::of(*t_.experiment),
                            .records = train::may_record(*t_.experiment, first_device(t_), *model_->module().ptr())});
  }

  static std::string path_of(const config::Component& dataset) {
    const auto path = dataset.options.find("path");
    return path != dataset.options.end() && path->is_string() ? path->get<std::string>() : dataset.name;
  }

  const Task& t_;
  const dist::Groups& groups_;
  const checkpoint::Checkpoint saved_;
  const std::unique_ptr<dist::Parallel> model_;
  const train::Loss loss_;
  const train::Measures measures_;
};

void evaluate(const EvaluateRequest& request, const Task& t, const TakeReply& reply) {
  const auto& e = *t.experiment;
  prepare_process(t);
  const data::Sets sets = build_sets(t, request.whole);
  const dist::Groups groups = join_groups(t);
  naming_absent_ranks(t, groups, [&] {
    const Evaluation evaluation(t, groups, request.raw);
    Measurement measured;
    const config::HeldOut& of_test = request.whole ? static_cast<const config::HeldOut&>(e.validation) : e.test;
    if (request.whole) {
      evaluation.require_fit(evaluation_of(t, sets.test, of_test), e.dataset, "dataset");
    } else {
      const auto require_fit = [&](const data::Set& set, const auto& held_out, const std::string& section) {
        const bool own = !held_out.dataset.name.empty();
        evaluation.require_fit(evaluation_of(t, set, held_out), own ? held_out.dataset : e.dataset,
                               own ? section + ".dataset" : "dataset");
      };
      require_fit(sets.validation, e.validation, "validation");
      require_fit(sets.test, e.test, "test");
      evaluation.add(evaluation_of(t, sets.validation, e.validation), config::kValidationPrefix, measured);
    }
    evaluation.add(evaluation_of(t, sets.test, of_test), request.whole ? "" : config::kTestPrefix, measured);
    if (request.repeats > 0) {
      const auto validation = request.whole ? std::nullopt : evaluation_of(t, sets.validation, e.validation);
      const std::string prefix = request.whole ? "" : validation ? config::kValidationPrefix : config::kTestPrefix;
      const config::Value value = measured.values.value(prefix + request.metric, config::Value());
      if (value.is_number()) {
        evaluation.add_importances(validation ? *validation : *evaluation_of(t, sets.test, of_test), request,
                                   value.get<double>(), measured);
      }
    }
    const std::set<std::string> left_out = left_out_of_all(t, sets, groups.main);
    if (!left_out.empty()) measured.warnings.push_back(in_words(left_out));
    if (t.rank == 0) reply(config::write(measured));
  });
  dist::leave(groups.main);
}

const bool evaluate_registered =
    verbs().add<EvaluateRequest>(EvaluateRequest::kVerb, "measures the weights of a checkpoint", evaluate);

}  // namespace
}  // namespace ddp::rank
