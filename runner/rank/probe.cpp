#include "rank/probe.h"

#include <algorithm>
#include <chrono>
#include <functional>

#include <ATen/Context.h>
#include <ATen/Parallel.h>
#include <ATen/core/grad_mode.h>
#include <torch/nn/module.h>

#include "base/error.h"
#include "checkpoint/store.h"
#include "data/sets.h"
#include "dist/parallel/data_parallel.h"
#include "dist/parallel/parallel.h"
#include "model/batch_sizes.h"
#include "model/doubts.h"
#include "model/freeze.h"
#include "model/numerics.h"
#include "model/weights.h"
#include "models/model.h"
#include "rank/data.h"
#include "rank/doubts.h"
#include "rank/model.h"
#include "rank/set_shapes.h"
#include "rank/trained_meanings.h"
#include "rank/tried_model.h"
#include "rank/verb.h"
#include "train/checkpointer.h"
#include "train/metrics/measures.h"
#include "train/optim/grouped_optimizer.h"

namespace ddp::rank {
namespace {

// The number of samples for the check of model, data and loss. Two, because batch normalization needs more than one.
constexpr std::int64_t kTried = 2;

// Returns some samples as in training, or a whole batch. A dataset that generates samples must generate a whole batch.
// `sizes`: the batch sizes that the model accepts. launch/plan/batch_sizes checks whether the training's sizes fit.
datasets::Batch first_batch(const data::Set& train, const config::Experiment& e, bool whole, model::BatchSizes sizes) {
  const std::int64_t some = whole ? *e.batch_size : std::min(kTried, *e.batch_size);
  const std::int64_t most = std::min(std::max(some, sizes.least), sizes.most);
  if (train.map() == nullptr) return data::first_samples(train, std::max(*e.batch_size, most)).first(most);
  return data::first_samples(train, most);
}

// Throws an error with the path of optimizer_file() if the saved state does not fit this optimizer.
void try_optimizer(const Task& t, const NamedTensors& saved, train::GroupedOptimizer& optimizer) try {
  optimizer.load(saved);
} catch (const Error& error) {
  throw usage_error(error.summary(), optimizer_file(t.resume_from).string(), error.remedy());
}

// Throws if the saved state is incomplete or does not fit this model and optimizer.
void try_saved(const Task& t, torch::nn::Module& model, train::GroupedOptimizer& optimizer) {
  if (!t.resume_from.empty()) {
    const checkpoint::Checkpoint saved = checkpoint::load(t.resume_from);
    model::load_weights(saved.of(checkpoint::kModel), model, t.resume_from.string());
    try_optimizer(t, saved.of(checkpoint::kOptimizer), optimizer);
  } else if (!t.init_from.empty()) {
    model::load_weights(given_weights(t, model), model, t.init_from.string());
  }
}

// Estimates the time of a step: backward takes about twice as long as forward. The first forward warms up.
double time_of_step(const TriedModel& model, const Task& t, const datasets::Batch& batch) {
  model.output_of(batch.inputs);
  at::set_num_threads(static_cast<int>(*t.experiment->threads));
  const auto begin = std::chrono::steady_clock::now();
  model.output_of(batch.inputs);
  return 3 * std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
}

torch::nn::AnyModule build_model(const Task& t, bool copied) {
  const auto& e = *t.experiment;
  const models::Placement placement{.devices = std::vector<c10::Device>(copied ? 1 : t.devices.size(), c10::kCPU)};
  torch::nn::AnyModule model = models::registry().build(e.model.name, e.model.options, placement);
  model::freeze(*model.ptr(), e.freeze);
  if (copied) dist::require_cloneable(*model.ptr());
  if (e.channels_last) model::to_channels_last(*model.ptr());
  return model;
}

void measure_sets(const data::Sets& sets, Probe& probe) {
  probe.train_samples = sets.train.size();
  probe.validation_samples = sets.validation.size();
  probe.test_samples = sets.test.size();
}

void measure_weights(const torch::nn::Module& model, const NamedTensors& parameters,
                     const train::GroupedOptimizer& optimizer, Probe& probe) {
  const NamedTensors trained = trained_of(parameters);
  probe.parameters = model::count_of(parameters);
  probe.parameter_bytes = model::bytes_of(parameters);
  probe.gradient_bytes = model::bytes_of(trained);
  probe.frozen_parameters = probe.parameters - model::count_of(trained);
  probe.has_convolutions =
      std::any_of(parameters.begin(), parameters.end(), [](const auto& one) { return one.second.dim() == 4; });
  probe.optimizer_bytes = optimizer.bytes();
  probe.buffer_bytes = model::bytes_of(named(model.named_buffers()));
  if (const auto* const limited = dynamic_cast<const model::LimitsBatches*>(&model)) {
    probe.least_batch = limited->batch_sizes().least;
    probe.most_batch = limited->batch_sizes().most;
  }
}

void try_measures(const Task& t, const at::Tensor& output, const datasets::Batch& batch, Probe& probe) {
  const config::Experiment& e = *t.experiment;
  // Mixed training targets are class probabilities; validation targets, which metrics measure, are not mixed.
  const auto mix = e.dataset.options.find("mix");
  if (mix == e.dataset.options.end() || mix->empty())
    train::Measures(e).require(output, train::only_target(batch.targets));
  for (std::string& doubt : doubts_of(e, output, batch)) probe.warnings.push_back(std::move(doubt));
}

void measure_model(const Task& t, bool timed, Probe& probe) {
  const auto& e = *t.experiment;
  at::manual_seed(static_cast<std::uint64_t>(e.seed));
  const data::Sets sets = build_sets(t);
  require_trained_meanings(t, sets);
  measure_sets(sets, probe);
  torch::nn::AnyModule model = build_model(t, dist::copies_model(e.parallel) && t.devices.size() > 1);
  const NamedTensors all_names = named(model.ptr()->named_parameters());
  train::GroupedOptimizer optimizer(e, all_names);
  probe.groups = optimizer.description();
  measure_weights(*model.ptr(), each_once(all_names), optimizer, probe);
  if (const auto* const doubtful = dynamic_cast<const model::HasDoubts*>(model.ptr().get())) {
    for (std::string& doubt : doubtful->doubts(t.world_size)) probe.warnings.push_back(std::move(doubt));
  }
  try_saved(t, *model.ptr(), optimizer);

  const auto batch_of = [&](bool whole) {
    datasets::Batch batch = first_batch(sets.train, e, whole, {probe.least_batch, probe.most_batch});
    const auto* samples = sets.train.map();
    return samples == nullptr ? batch : samples->at_place(std::move(batch), {});
  };
  const datasets::Batch batch = batch_of(/*whole=*/false);
  const TriedModel tried(t, model);
  tried.require_tokens(sets.train, batch);
  at::Tensor output = tried.output_of(batch.inputs);
  if (probe.least_batch <= 1) tried.require_last_batch(batch, probe.train_samples);
  tried.require_gradients(tried.loss_of(output, batch), [&] { return batch_of(/*whole=*/true); });
  output = output.detach();
  const at::NoGradGuard no_grad;
  try_measures(t, output, batch, probe);
  if (std::string doubt = tried.doubt_of_tokens(output, sets.train); !doubt.empty()) {
    probe.warnings.push_back(std::move(doubt));
  }
  tried.require_targets(output, batch, sets);
  model.ptr()->eval();
  require_shapes_of_sets(t, tried, sets, batch, std::max<std::int64_t>(probe.least_batch, 1));
  model.ptr()->train();
  if (timed) probe.step_seconds = time_of_step(tried, t, batch_of(/*whole=*/true)) * static_cast<double>(e.accumulate);
}

// Reports an error that names no place as an error of the key `model`.
void probe_model(const ProbeRequest& request, const Task& task, const TakeReply& reply) try {
  Probe probe;
  measure_model(task, request.timed, probe);
  reply(config::write(probe));
} catch (const Error&) {
  throw;
} catch (const c10::Error& error) {
  throw usage_error(error.msg(), "model");
} catch (const std::exception& error) {
  throw usage_error(error.what(), "model");
}

const bool probe_registered =
    verbs().add<ProbeRequest>(ProbeRequest::kVerb, "tries model and data, and counts parameters", probe_model);

}  // namespace
}  // namespace ddp::rank
