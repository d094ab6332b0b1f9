#include "rank/probe.h"

#include <algorithm>
#include <chrono>
#include <functional>

#include <ATen/Context.h>
#include <ATen/Parallel.h>
#include <ATen/core/grad_mode.h>
#include <ATen/ops/_unique.h>
#include <ATen/ops/full_like.h>
#include <ATen/ops/masked_select.h>
#include <ATen/ops/ne.h>
#include <torch/nn/module.h>

#include "base/error.h"
#include "checkpoint/store.h"
#include "data/description.h"
#include "dist/parallel/data_parallel.h"
#include "dist/parallel/parallel.h"
#include "dist/parallel/unused.h"
#include "model/batch_sizes.h"
#include "model/call.h"
#include "model/doubts.h"
#include "model/freeze.h"
#include "model/numerics.h"
#include "model/weights.h"
#include "models/model.h"
#include "rank/data.h"
#include "rank/gradient_paths.h"
#include "rank/model.h"
#include "rank/output_doubts.h"
#include "rank/verb.h"
#include "train/checkpointer.h"
#include "train/loss/classes.h"
#include "train/loss/loss.h"
#include "train/metrics/measures.h"
#include "train/optim/grouped_optimizer.h"

namespace ddp::rank {
namespace {

// The number of samples for the check of model, data and loss. Two, because batch normalization needs more than one.
constexpr std::int64_t kTried = 2;

// Returns some samples as in training, or a whole batch. A dataset that generates samples must
// generate a whole batch. `sizes`: the batch sizes that the model accepts. launch/plan/batch_sizes checks whether the
// training's sizes fit.
datasets::Batch first_batch(const data::Set& train, const config::Experiment& e, bool whole, model::BatchSizes sizes) {
  const std::int64_t some = whole ? *e.batch_size : std::min(kTried, *e.batch_size);
  const std::int64_t most = std::min(std::max(some, sizes.least), sizes.most);
  if (train.map() == nullptr) return data::first_samples(train, std::max(*e.batch_size, most)).first(most);
  return data::first_samples(train, most);
}

// "[2, 20] and [2, 4]"
std::string shapes_of(const NamedTensors& tensors) {
  std::string text;
  for (const auto& [name, tensor] : tensors) text += (text.empty() ? "" : " and ") + c10::str(tensor.sizes());
  return text;
}

// The model is checked on the CPU, even if it trains on GPUs. Some operators have a 16-bit kernel only on GPUs, so the
// check for a GPU uses fp32: only shapes matter.
model::Numerics numerics_of(const Task& t) {
  model::Numerics numerics = model::Numerics::of(*t.experiment);
  if (!c10::Device(t.devices.front()).is_cpu()) numerics.precision = "fp32";
  return numerics;
}

// Runs `work`. If the CPU has no kernel for the precision, throws an error of the key `precision`.
template <class Work>
at::Tensor under_casts(const model::Numerics& numerics, const Work& work) {
  const model::Autocast casts(numerics.precision, c10::kCPU);
  try {
    return work();
  } catch (const c10::NotImplementedError& error) {
    if (numerics.precision == "fp32") throw;
    throw usage_error("the CPU has no kernel for it: " + error.msg(), "precision", "use precision = \"fp32\"");
  }
}

at::Tensor output_of(torch::nn::AnyModule& model, const Task& t, const NamedTensors& inputs) {
  const model::Numerics numerics = numerics_of(t);
  return under_casts(numerics, [&] { return model::call(model, numerics.prepared(tensors_of(inputs))); });
}

at::Tensor forward(torch::nn::AnyModule& model, const Task& t, const NamedTensors& inputs) {
  const config::Experiment& e = *t.experiment;
  try {
    return output_of(model, t, inputs);
  } catch (const c10::Error& error) {
    throw usage_error("the model \"" + e.model.name + "\" does not accept inputs of the dataset \"" + e.dataset.name +
                          "\", of shape " + shapes_of(inputs) + ": " + error.msg(),
                      "model",
                      e.model.name == "linear"
                          ? "give its in_features and out_features; model = { name = \"mlp\", hidden = [] } is linear "
                            "too and takes its sizes from the data"
                          : "");
  }
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
double time_of_step(torch::nn::AnyModule& model, const Task& t, const datasets::Batch& batch) {
  forward(model, t, batch.inputs);
  at::set_num_threads(static_cast<int>(*t.experiment->threads));
  const auto begin = std::chrono::steady_clock::now();
  forward(model, t, batch.inputs);
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

// Checks that the model has an output for each class of the data. The batch of the probe has only some of the classes.
void try_classes(const Task& t, const at::Tensor& output, const data::Sets& sets) {
  const config::Experiment& e = *t.experiment;
  const config::Spec* spec = e.components().find("loss", e.loss.name);
  const std::string outputs = spec == nullptr ? "" : spec->traits.value("outputs", "");
  if (output.dim() != 2 || (outputs != "logits" && outputs != "log_probabilities")) return;
  const auto loss = train::losses().build(e.loss.name, e.loss.options);
  for (const data::Set* set : {&sets.train, &sets.validation, &sets.test}) {
    const at::Tensor all = data::classes_of(*set);
    if (!all.defined()) continue;
    const at::Tensor each = std::get<0>(at::_unique(all.masked_select(all.ne(datasets::kNoClass))));
    if (each.numel() == 0) continue;
    try {
      loss(output.slice(0, 0, 1).expand({each.size(0), output.size(1)}), each);
    } catch (const Error& error) {
      throw usage_error(error.summary(), "model", error.remedy());
    } catch (const c10::Error&) {
      throw usage_error("the data have class " + std::to_string(each.max().item<std::int64_t>()) +
                            ", counted from 0, and the model gives " + std::to_string(output.size(1)) + " outputs",
                        "model", "give the model one output for each class");
    }
  }
}

at::Tensor loss_of(const Task& t, const at::Tensor& output, const datasets::Batch& batch) {
  const config::Experiment& e = *t.experiment;
  const auto loss = train::losses().build(e.loss.name, e.loss.options);
  try {
    return under_casts(numerics_of(t), [&] { return loss(output, train::only_target(batch.targets)); });
  } catch (const c10::Error& error) {
    throw usage_error("the loss \"" + e.loss.name + "\" does not accept outputs of shape " + c10::str(output.sizes()) +
                          " with targets of shape " + shapes_of(batch.targets) + ": " + error.msg(),
                      "loss");
  }
}

// Throws if DDP would wait in vain for the gradients of some parameters. A few samples may not reach all parameters, so
// a whole batch decides.
void try_gradients(const Task& t, torch::nn::AnyModule& model, const at::Tensor& loss,
                   const std::function<datasets::Batch()>& whole_batch) {
  const config::Experiment& e = *t.experiment;
  if (!dist::joins_group(e.parallel) || e.distributed.find_unused_parameters || e.distributed.static_graph) return;
  const NamedTensors trained = trained_of(each_once(named(model.ptr()->named_parameters())));
  if (without_gradient(loss, trained).empty()) return;
  const datasets::Batch batch = whole_batch();
  const auto unused = without_gradient(loss_of(t, forward(model, t, batch.inputs), batch), trained);
  if (!unused.empty()) throw dist::unused_parameters(Fault::usage, unused);
}

void try_measures(const Task& t, const at::Tensor& output, const datasets::Batch& batch, Probe& probe) {
  const config::Experiment& e = *t.experiment;
  // Mixed training targets are class probabilities; validation targets, which metrics measure, are not mixed.
  const auto mix = e.dataset.options.find("mix");
  if (mix == e.dataset.options.end() || mix->empty())
    train::Measures(e).require(output, train::only_target(batch.targets));
  for (std::string& doubt : doubts_of_output(e, output, train::only_target(batch.targets)))
    probe.warnings.push_back(std::move(doubt));
}

// Checks that a model without an option for the number of tokens takes all of them. The batch of the probe has only
// some tokens, and a rare one would end the run later.
void try_tokens(torch::nn::AnyModule& model, const Task& t, const data::Set& train, datasets::Batch batch) {
  const bool integers = batch.inputs.front().second.scalar_type() == at::kLong;
  if (!integers || t.experiment->model.options.contains("vocab_size")) return;
  const config::Value facts = train.dataset->facts();
  const auto tokens = facts.find("vocab_size");
  if (tokens == facts.end()) return;
  const auto count = tokens->get<std::int64_t>();
  for (auto& [name, input] : batch.inputs) input = at::full_like(input, count - 1);
  try {
    output_of(model, t, batch.inputs);
  } catch (const c10::IndexError&) {
    throw usage_error("the data of \"" + t.experiment->dataset.name + "\" have " + std::to_string(count) +
                          " tokens, and the model takes fewer",
                      "model",
                      "give the model " + std::to_string(count) + " tokens; export a .pt2 file again with them");
  }
}

void measure_model(const Task& t, bool timed, Probe& probe) {
  const auto& e = *t.experiment;
  at::manual_seed(static_cast<std::uint64_t>(e.seed));
  const data::Sets sets = build_sets(t);
  measure_sets(sets, probe);
  torch::nn::AnyModule model = build_model(t, dist::copies_model(e.parallel) && t.devices.size() > 1);
  const NamedTensors all_names = named(model.ptr()->named_parameters());
  train::GroupedOptimizer optimizer(e, all_names);
  probe.groups = optimizer.description();
  measure_weights(*model.ptr(), each_once(all_names), optimizer, probe);
  if (const auto* const doubtful = dynamic_cast<const model::HasDoubts*>(model.ptr().get())) {
    for (std::string& doubt : doubtful->doubts()) probe.warnings.push_back(std::move(doubt));
  }
  try_saved(t, *model.ptr(), optimizer);

  const auto batch_of = [&](bool whole) {
    datasets::Batch batch = first_batch(sets.train, e, whole, {probe.least_batch, probe.most_batch});
    const auto* samples = sets.train.map();
    return samples == nullptr ? batch : samples->at_place(std::move(batch), {});
  };
  const datasets::Batch batch = batch_of(/*whole=*/false);
  at::Tensor output = forward(model, t, batch.inputs);
  try_gradients(t, model, loss_of(t, output, batch), [&] { return batch_of(/*whole=*/true); });
  output = output.detach();
  const at::NoGradGuard no_grad;
  try_tokens(model, t, sets.train, batch);
  try_measures(t, output, batch, probe);
  if (batch.targets.size() == 1 && !batch.targets.front().second.is_floating_point()) try_classes(t, output, sets);
  if (timed) probe.step_seconds = time_of_step(model, t, batch_of(/*whole=*/true)) * static_cast<double>(e.accumulate);
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
