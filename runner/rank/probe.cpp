#include "rank/probe.h"

#include <algorithm>
#include <cctype>
#include <chrono>
#include <functional>
#include <unordered_set>

#include <ATen/Context.h>
#include <ATen/Parallel.h>
#include <ATen/core/grad_mode.h>
#include <ATen/ops/full_like.h>
#include <c10/util/StringUtil.h>
#include <torch/csrc/autograd/function.h>
#include <torch/csrc/autograd/variable.h>
#include <torch/nn/module.h>

#include "base/error.h"
#include "checkpoint/store.h"
#include "config/length.h"
#include "config/text/source.h"
#include "data/sets.h"
#include "dist/batch_norm.h"
#include "dist/parallel/data_parallel.h"
#include "dist/parallel/parallel.h"
#include "format/safetensors.h"
#include "model/batch_sizes.h"
#include "model/call.h"
#include "model/numerics.h"
#include "model/weights.h"
#include "models/model.h"
#include "rank/process.h"
#include "rank/verbs.h"
#include "record/metrics/event_lines.h"
#include "record/saves/data_files.h"
#include "train/checkpointer.h"
#include "train/loss/classes.h"
#include "train/loss/loss.h"
#include "train/metrics/measures.h"
#include "train/optim/grouped_optimizer.h"
#include "train/replay.h"
#include "train/rules.h"

namespace ddp::rank {
namespace {

// The shapes of a sample's inputs: "[3, 32, 32]", "[20] and [4]".
std::string shapes_of_sample(const datasets::Batch& batch) {
  std::string text;
  for (const auto& [name, input] : batch.inputs) {
    text += (text.empty() ? "" : " and ") + c10::str(input.sizes().slice(1));
  }
  return text;
}

std::string shapes_of(const NamedTensors& tensors) {
  std::string text;
  for (const auto& [name, tensor] : tensors) text += (text.empty() ? "" : " and ") + c10::str(tensor.sizes());
  return text;
}

// Runs `work`. If the CPU has no kernel for the precision, throws an error of the key `precision`.
template <class Work>
auto under_casts(const model::Numerics& numerics, const Work& work) {
  const model::Autocast casts(numerics.precision, c10::kCPU);
  try {
    return work();
  } catch (const c10::NotImplementedError& error) {
    if (numerics.precision == "fp32") throw;
    throw usage_error("the CPU has no kernel for it: " + error.msg(), "precision", "use precision = \"fp32\"");
  }
}

// LibTorch has no error class for this.
bool is_of_batch_norm(const std::exception& error) {
  return std::string_view(error.what()).find("Expected more than 1 value per channel") != std::string_view::npos;
}

// Returns the names of the parameters that get no gradient from this loss: no path of its graph leads to them, as
// c10d's Reducer searches it for find_unused_parameters. Runs no backward.
std::vector<std::string> without_gradient(const at::Tensor& loss, const NamedTensors& parameters) {
  std::unordered_set<const torch::autograd::Node*> seen;
  std::vector<const torch::autograd::Node*> ahead{loss.grad_fn().get()};
  while (!ahead.empty()) {
    const torch::autograd::Node* node = ahead.back();
    ahead.pop_back();
    if (node == nullptr || !seen.insert(node).second) continue;
    for (const auto& edge : node->next_edges()) ahead.push_back(edge.function.get());
  }
  std::vector<std::string> names;
  for (const auto& [name, parameter] : parameters) {
    if (!seen.contains(torch::autograd::impl::grad_accumulator(parameter).get())) names.push_back(name);
  }
  return names;
}

// Throws if the model does not return what the loss takes, or ranks could give the loss batches of different sizes.
void require_outputs(const torch::nn::Module& model, const train::Loss& loss, const config::Experiment& e) {
  const auto* const several = dynamic_cast<const model::GivesOutputs*>(&model);
  const bool is_of_model = loss.graph() != nullptr && loss.graph()->is_of_model;
  if (loss.graph() != nullptr && loss.graph()->gathers && e.dataset.options.value("on_bad", "") == "skip") {
    throw usage_error("needs batches of the same size on every rank", "loss.gather",
                      "on_bad = \"skip\" leaves samples out: give on_bad = \"error\", or remove them");
  }
  if (is_of_model && several == nullptr) {
    throw usage_error("the model \"" + e.model.name + "\" does not compute its loss", "loss",
                      "loss = \"model\" is for an exported model whose forward returns it: name a loss, such as mse");
  }
  const std::string where = e.model.options.value("path", std::string("model"));
  if (several != nullptr && is_of_model) {
    train::place_of_loss(several->output_names(), where);
  } else if (several != nullptr && loss.graph() == nullptr) {
    model::main_place(several->output_names(), where);
  }
}

// A model that is tried on a few samples. It runs on the CPU, even if it trains on GPUs. Each misfit of model, data and
// loss is a ddp::Error (usage) that names the key of the experiment file.
class TriedModel {
 public:
  // Both must outlive this object.
  TriedModel(const Task& task, torch::nn::AnyModule& model)
      : e_(*task.experiment),
        model_(model),
        loss_(train::loss_for(e_, *model.ptr())),
        numerics_(model::Numerics::of(e_)) {
    // Some operators have a 16-bit kernel only on GPUs, and only shapes matter.
    if (!c10::Device(task.devices.front()).is_cpu()) numerics_.precision = "fp32";
  }

  // Returns the model's outputs. Throws if it does not take the inputs.
  NamedTensors outputs_of(const datasets::Batch& batch) const {
    try {
      return call(batch);
    } catch (const c10::Error& error) {
      if (is_of_batch_norm(error) && batch.samples() == 1) {
        throw usage_error(std::string("each step has ") + kOneValue, "batch_size", "give a batch_size of 2 or more");
      }
      throw usage_error("the model \"" + e_.model.name + "\" does not accept inputs of the dataset \"" +
                            e_.dataset.name + "\", of shape " + shapes_of_sample(batch) + ": " +
                            error.what_without_backtrace(),
                        "model");
    }
  }

  // Throws if the model has no batch norm whose statistics the ranks could share.
  void require_batch_norm(const datasets::Batch& batch) const {
    dist::SyncedNorms norms(/*group=*/nullptr);
    {
      const dist::SyncedNorms::Use synced(&norms);
      outputs_of(batch);
    }
    if (norms.calls() > 0) return;
    throw usage_error("the model \"" + e_.model.name + "\" has no batch norm that takes its statistics from a batch",
                      "model.sync_batch_norm", "leave it out");
  }

  // Throws if the model has batch norms, and the last batch of a rank in an epoch would give them one value per
  // channel.
  void require_last_batch(const datasets::Batch& batch, std::int64_t train_samples) const {
    // The model is tried in one process, whatever the number of ranks.
    const bool is_split = dist::joins_group(e_.parallel) && e_.device_pool.is_array();
    const int devices = is_split ? static_cast<int>(e_.device_pool.size()) : 1;
    const int ranks = e_.logical_ranks ? static_cast<int>(*e_.logical_ranks) : devices;
    const std::int64_t of_rank = config::samples_of_rank(train_samples, ranks, e_.loader.drop_last);
    if (e_.loader.drop_last_batch || of_rank % *e_.batch_size != 1) return;
    const std::int64_t batches = config::micro_batches_of_rank(train_samples, ranks, *e_.batch_size, e_.loader);
    if (e_.steps && *e_.steps * e_.accumulate < batches) return;  // the run ends before that batch
    try {
      call(batch.first(1));
    } catch (const std::exception& error) {  // of LibTorch, or of a layer that names itself
      if (!is_of_batch_norm(error)) throw;
      throw usage_error("the last of a rank's " + std::to_string(of_rank) + " samples in an epoch is " + kOneValue,
                        "batch_size", "give another batch_size, or loader.drop_last_batch = true");
    }
  }

  // Returns the loss of the batch with these outputs. Throws if the loss does not take both.
  train::BatchLoss loss_of(const NamedTensors& outputs, const datasets::Batch& batch) const {
    try {
      return under_casts(numerics_, [&]() -> train::BatchLoss {
        return loss_.weighs(batch) ? loss_.sum(outputs, batch) : loss_(outputs, batch.targets);
      });
    } catch (const c10::Error& error) {
      throw usage_error("the loss \"" + e_.loss.name + "\" does not accept outputs of shape " + shapes_of(outputs) +
                            " with targets of shape " + shapes_of(batch.targets) + ": " + error.msg(),
                        "loss");
    }
  }

  // Throws if the scalars that come with the loss cannot be recorded, or differ in an evaluation. The model must be in
  // evaluation mode.
  void require_scalars(const datasets::Batch& batch) const {
    const std::vector<std::string> names = loss_.scalar_names(*model_.ptr());
    if (names.size() > record::kMostScalars) {
      throw usage_error("forward returns " + std::to_string(names.size()) + " scalars beside the loss, and " +
                            std::to_string(record::kMostScalars) + " can be recorded",
                        "loss");
    }
    const std::vector<std::string> metrics = e_.metric_names();
    for (const std::string& name : names) {
      if (!config::is_key_of_metrics(name)) {
        throw usage_error("the scalar " + config::in_quotes(name) + " of the loss cannot be recorded under this name",
                          "loss", "use letters, digits, _, -, . and / in forward's dict");
      }
      const bool is_metric = std::find(metrics.begin(), metrics.end(), name) != metrics.end();
      if (!is_metric && !record::is_key_of_step(name)) continue;
      throw usage_error("the scalar " + config::in_quotes(name) + " of the loss has the name of " +
                            (is_metric ? "a metric" : "a value that each step records"),
                        "loss", "give it another name in forward's dict");
    }
    if (loss_.graph() == nullptr) return;
    std::vector<std::string> measured;
    for (const auto& [name, scalar] : loss_of(outputs_of(batch), batch).scalars) measured.push_back(name);
    if (measured == names) return;
    throw usage_error("the graph of the evaluation gives other scalars beside the loss than the graph of the training",
                      "model.eval", "return the same dict in both modes");
  }

  // Throws if metrics are wanted, and the outputs and targets of the batch do not allow them.
  void require_metrics(const NamedTensors& outputs, const datasets::Batch& batch) const {
    const std::optional<train::Answers> answers =
        train::answers_of(loss_, outputs, batch.targets, !e_.metrics.is_null());
    const train::Measures measures(e_);
    if (!answers && measures.given() && measures.needs_main_output()) {
      throw usage_error("with this loss, metrics need the output \"logits\" and one target", "metrics",
                        "return logits in forward's dict, name an output and its target, such as \"accuracy:kind\", or "
                        "give metrics = []");
    }
    measures.require(answers, outputs, batch.targets);
  }

  // Throws if a setting follows a scalar that does not come with the loss: its name is known only now.
  void require_followed() const {
    if (loss_.graph() == nullptr) return;
    std::vector<std::string> measured{"val_loss"};
    for (const std::string& name : loss_.scalar_names(*model_.ptr())) measured.push_back("val_" + name);
    for (const auto& [metric, keys] : train::followed_metrics(e_)) {
      const bool is_known = config::has_direction(metric, e_.components());
      if (is_known || std::find(measured.begin(), measured.end(), metric) != measured.end()) continue;
      std::string names;
      for (const std::string& name : measured) names += (names.empty() ? "" : ", ") + name;
      throw usage_error(config::in_quotes(metric) + " is not measured", keys, "the loss gives " + names);
    }
  }

  const train::Loss& loss() const { return loss_; }
  std::vector<at::Tensor> inputs_of(const datasets::Batch& batch) const {
    return loss_.model_inputs(batch, numerics_, c10::kCPU);
  }

  // Throws if DDP would wait in vain for the gradients of some parameters. A few samples, whose loss this is, may not
  // reach all parameters, so a whole batch decides.
  void require_gradients(const at::Tensor& loss, const std::function<datasets::Batch()>& whole_batch) const {
    if (!dist::joins_group(e_.parallel) || e_.distributed.find_unused_parameters || e_.distributed.static_graph) return;
    const NamedTensors trained = trained_of(each_once(named(model_.ptr()->named_parameters())));
    if (without_gradient(loss, trained).empty()) return;
    const datasets::Batch batch = whole_batch();
    const auto unused = without_gradient(loss_of(outputs_of(batch), batch).value, trained);
    if (!unused.empty()) throw dist::unused_parameters(Fault::usage, unused);
  }

  // Throws if the loss does not take a target of the data with this output of the model for the batch, which has only
  // some of the targets: a class without an output, a label that is not from 0 to 1.
  void require_targets(const at::Tensor& output, const datasets::Batch& batch, const data::Sets& sets) const {
    const auto check = loss_.check_targets(output, train::only_target(batch.targets));
    const auto require = [&](const data::Set& set) {
      return set.map() != nullptr && rank::require_targets(check, *set.map(), set.samples);
    };
    const bool all_of_training = require(sets.train);
    for (const data::Set* set : {&sets.validation, &sets.test}) {
      if (!set->of_training || !all_of_training) require(*set);
    }
  }

  // Throws if an integer of an input is not below the number of values that the model was exported for. Targets may
  // have values that the model's own loss ignores.
  void require_values(const data::Sets& sets) const {
    constexpr std::int64_t kSamples = 1024;  // at a time
    const auto* several = dynamic_cast<const model::GivesOutputs*>(model_.ptr().get());
    const std::vector<std::int64_t> most =
        several == nullptr ? std::vector<std::int64_t>() : several->argument_values();
    if (std::all_of(most.begin(), most.end(), [](std::int64_t values) { return values == 0; })) return;
    for (const auto& [name, set] : sets.by_name()) {
      if (set->map() == nullptr || !set->map()->in_memory()) continue;
      for (std::int64_t begin = 0; begin < set->size(); begin += kSamples) {
        const std::int64_t count = std::min(kSamples, set->size() - begin);
        const datasets::Batch batch = set->map()->gather(set->samples.narrow(0, begin, count), /*epoch=*/0);
        std::vector<at::Tensor> inputs = inputs_of(batch);
        inputs.resize(batch.inputs.size());
        require_values(inputs, most, name);
      }
    }
  }

  // Throws if a model without an option for the number of tokens does not take all of them. The batch has only some
  // tokens, and a rare one would end the run later.
  void require_tokens(const data::Set& train, datasets::Batch batch) const {
    if (e_.model.options.contains("vocab_size")) return;
    const std::int64_t count = train.dataset->facts().value("vocab_size", std::int64_t{0});
    if (count == 0 || batch.inputs.front().second.scalar_type() != at::kLong) return;
    for (auto& [name, input] : batch.inputs) input = at::full_like(input, count - 1);
    const at::NoGradGuard no_grad;
    try {
      call(batch);
    } catch (const c10::IndexError&) {
      throw usage_error("the data of \"" + e_.dataset.name + "\" have " + std::to_string(count) +
                            " tokens, and the model takes fewer",
                        "model", "give the model " + std::to_string(count) + " tokens");
    } catch (const c10::Error&) {
      return;  // outputs_of() reports other errors
    } catch (const Error&) {
      return;
    }
  }

  // Throws if the model does not take the samples of validation or of the test, which are of another dataset, or the
  // loss their targets: the run would fail after its first epoch, or at its end. `count`: the number of samples to try.
  // The model must be in evaluation mode.
  void require_sets(const data::Sets& sets, std::int64_t count) const {
    require_set(sets.validation, e_.validation.dataset, "validation.dataset", count);
    require_set(sets.test, e_.test.dataset, "test.dataset", count);
  }

  // Returns warnings about outputs that the loss accepts but with which nothing is learnt.
  std::vector<std::string> warnings(const at::Tensor& output, const datasets::Batch& batch) const {
    const config::Spec* spec = e_.components().find("loss", e_.loss.name);
    const std::string outputs = spec == nullptr ? "" : spec->traits.value("outputs", "");
    const at::Tensor by_classes = train::by_class(output, train::only_target(batch.targets)).output;
    if (e_.loss.name == "cross_entropy" && by_classes.dim() > 1 && by_classes.size(1) == 1) {
      return {"cross_entropy over one class is always 0, so nothing is learnt"};
    }
    if (outputs == "log_probabilities" && output.numel() > 0 && output.max().item<double>() > 0) {
      return {"the model's outputs are above 0, and " + e_.loss.name + " takes logarithms of probabilities"};
    }
    if (outputs == "logits" && are_probabilities(by_classes)) {
      return {"the model's outputs are probabilities, and " + e_.loss.name + " applies a softmax itself"};
    }
    return {};
  }

 private:
  static constexpr const char* kOneValue =
      "a batch of one sample, and batch norm cannot train on one value per channel: its running variance would be NaN";

  NamedTensors call(const datasets::Batch& batch) const {
    return under_casts(numerics_, [&] { return model::call(model_, inputs_of(batch)); });
  }

  void require_values(const std::vector<at::Tensor>& inputs, const std::vector<std::int64_t>& most,
                      const std::string& set) const {
    for (std::size_t i = 0; i < inputs.size() && i < most.size(); ++i) {
      const at::Tensor& input = inputs[i];
      if (most[i] == 0 || !at::isIntegralType(input.scalar_type(), /*includeBool=*/false)) continue;
      const at::Tensor wrong = input.ge(most[i]).logical_or(input.lt(0));
      if (!wrong.any().item<bool>()) continue;
      const auto names = dynamic_cast<const model::GivesOutputs&>(*model_.ptr()).argument_names();
      throw usage_error("the " + set + " data have the value " +
                            std::to_string(input.masked_select(wrong)[0].item<std::int64_t>()) + " in " +
                            config::in_quotes(names[i]) + ", and the model was exported for values from 0 to " +
                            std::to_string(most[i] - 1),
                        "dataset", "export the model for more values, or correct the data");
    }
  }

  void require_set(const data::Set& set, const config::Component& own, const char* key, std::int64_t count) const {
    if (!set.dataset || set.of_training || set.size() < count || own.name.empty()) return;
    const datasets::Batch batch = data::first_samples(set, count);
    if (batch.samples() < count) return;
    try {
      loss_of(outputs_of(batch), batch);
    } catch (const Error& error) {
      const std::string file = set.map()->sample_path(set.samples[0].item<std::int64_t>());
      throw usage_error((file.empty() ? "" : file + ": ") + error.summary(), key, error.remedy());
    }
  }

  // Are the outputs of each sample, over its classes, numbers from 0 that add up to 1?
  static bool are_probabilities(const at::Tensor& by_classes) {
    if (by_classes.dim() < 2 || by_classes.size(1) < 2 || by_classes.numel() == 0) return false;
    if (by_classes.min().item<double>() < 0) return false;
    return (by_classes.to(at::kDouble).sum(1) - 1).abs().max().item<double>() < 1e-3;
  }

  const config::Experiment& e_;
  torch::nn::AnyModule& model_;
  const train::Loss loss_;
  model::Numerics numerics_;
};

// A step that takes longer is not recorded for a plan: it has little to gain.
constexpr double kMostSecondsToRecord = 2;

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

// Throws if the saved state is incomplete or does not fit this model and optimizer.
void try_saved(const Task& t, torch::nn::Module& model, train::GroupedOptimizer& optimizer) {
  if (!t.resume_from.empty()) {
    const checkpoint::Checkpoint saved = checkpoint::load(t.resume_from);
    model::load_weights(saved.of(checkpoint::kModel), model, t.resume_from.string());
    try {
      optimizer.load(saved.of(checkpoint::kOptimizer));
    } catch (const Error& error) {
      throw usage_error(error.summary(), optimizer_file(t.resume_from).string(), error.remedy());
    }
  } else if (!t.init_from.empty()) {
    model::load_weights(given_weights(t, model), model, t.init_from.string());
  }
}

// Estimates the time of a step: backward takes about twice as long as forward. The first forward warms up.
double time_of_step(const TriedModel& model, const Task& t, const datasets::Batch& batch) {
  model.outputs_of(batch);
  at::set_num_threads(static_cast<int>(*t.experiment->threads));
  const auto begin = std::chrono::steady_clock::now();
  model.outputs_of(batch);
  return 3 * std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
}

// Records a micro-batch twice, and plans its replay.
void forecast_replay(const TriedModel& model, const Task& t, const datasets::Batch& batch,
                     const NamedTensors& parameters, Probe& probe) {
  probe.not_replayed = train::replay_obstacle(*t.experiment, model.loss(), c10::Device(t.devices.front()));
  if (!probe.not_replayed.empty()) return;
  const at::AutoGradMode with_gradients(true);
  std::vector<at::Tensor> tensors = model.inputs_of(batch);
  for (const auto& [name, target] : batch.targets) tensors.push_back(target);
  const auto record = [&] {
    for (const auto& [name, parameter] : parameters) parameter.mutable_grad().reset();
    train::Recording recording{.most_bytes = static_cast<std::size_t>(t.bytes_to_record)};
    const train::Recorder recorder(recording);
    const at::Tensor loss = model.loss_of(model.outputs_of(batch), batch).value;
    const std::size_t calls_of_forward = recording.calls.size();
    loss.backward();
    probe.recorded_bytes = static_cast<std::int64_t>(recording.bytes);
    return train::tape_of(recording, {.batch = tensors, .parameters = &parameters}, {loss}, calls_of_forward);
  };
  try {
    train::Tape first = record();
    first.drop_results();
    train::CommonMemory common;
    const auto player = train::player_of(first, record(), common);
    probe.calls = static_cast<std::int64_t>(player->calls());
    probe.own_calls = static_cast<std::int64_t>(player->own_calls());
  } catch (const train::NotStatic& error) {
    // This is kept for later plans, when other memory is free.
    const bool is_too_large = probe.recorded_bytes > t.bytes_to_record;
    if (!is_too_large) probe.not_replayed = error.reason;
  } catch (const Error& error) {  // a target of the whole batch that the loss does not take, for example
    probe.not_replayed = error.summary();
  }
}

torch::nn::AnyModule build_model(const Task& t, bool copied) {
  const auto& e = *t.experiment;
  const models::Placement placement{.devices = std::vector<c10::Device>(copied ? 1 : t.devices.size(), c10::kCPU),
                                    .loads_weights = !e.model.copies.empty()};
  torch::nn::AnyModule model = models::registry().build(e.model.name, e.model.with_copies(), placement);
  model::freeze(*model.ptr(), e.freeze);
  if (copied) dist::require_cloneable(*model.ptr());
  if (e.channels_last) model::to_channels_last(*model.ptr());
  return model;
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
  if (const auto* const exported = dynamic_cast<const model::GivesOutputs*>(&model)) {
    probe.operators = exported->operators();
  }
  if (const auto* const limited = dynamic_cast<const model::LimitsBatches*>(&model)) {
    probe.least_batch = limited->batch_sizes().least;
    probe.most_batch = limited->batch_sizes().most;
  }
}

void measure_model(const Task& t, bool timed, Probe& probe) {
  const auto& e = *t.experiment;
  at::manual_seed(static_cast<std::uint64_t>(e.seed));
  const data::Sets sets = build_sets(t);
  if (!t.resume_from.empty()) record::require_trained_meanings(t.resume_from, sets.preprocessing);
  probe.train_samples = sets.train.size();
  probe.validation_samples = sets.validation.size();
  probe.test_samples = sets.test.size();
  probe.rows = sets.rows;
  torch::nn::AnyModule model = build_model(t, dist::copies_model(e.parallel) && t.devices.size() > 1);
  const NamedTensors all_names = named(model.ptr()->named_parameters());
  train::GroupedOptimizer optimizer(e, all_names);
  probe.groups = optimizer.description();
  probe.layers = optimizer.layers();
  measure_weights(*model.ptr(), each_once(all_names), optimizer, probe);
  probe.not_divided = optimizer.division_obstacle(e, t.world_size, shares_memory(t));
  if (const auto* const warning = dynamic_cast<const model::HasWarnings*>(model.ptr().get())) {
    // Ranks with one set of statistics train as one.
    probe.warnings = warning->warnings(e.syncs_batch_norm() ? 1 : t.world_size);
  }
  if (const auto& names = optimizer.without_layer(); !names.empty()) {
    probe.warnings.push_back("\"optimizer.layers\" does not match these parameters, which belong to the first layer: " +
                             c10::Join(", ", names));
  }
  try_saved(t, *model.ptr(), optimizer);

  const TriedModel tried(t, model);
  require_outputs(*model.ptr(), tried.loss(), e);
  tried.require_followed();
  if (const train::GraphLoss* graph = tried.loss().graph()) {
    probe.least_batch = std::max(probe.least_batch, graph->batch_sizes.least);
    probe.most_batch = std::min(probe.most_batch, graph->batch_sizes.most);
    probe.compares_samples = graph->compares_samples;
  }
  const auto batch_of = [&](bool whole) {
    datasets::Batch batch = first_batch(sets.train, e, whole, {probe.least_batch, probe.most_batch});
    const auto* samples = sets.train.map();
    return samples == nullptr ? batch : samples->at_place(std::move(batch), {});
  };
  const datasets::Batch batch = batch_of(/*whole=*/false);
  tried.require_values(sets);
  tried.require_tokens(sets.train, batch);
  NamedTensors outputs = tried.outputs_of(batch);
  if (e.syncs_batch_norm()) tried.require_batch_norm(batch);
  if (probe.least_batch <= 1) tried.require_last_batch(batch, probe.train_samples);
  tried.require_gradients(tried.loss_of(outputs, batch).value, [&] { return batch_of(/*whole=*/true); });
  for (auto& [name, output] : outputs) output = output.detach();
  const at::NoGradGuard no_grad;
  // Mixed training targets are class probabilities; validation targets, which metrics measure, are not mixed.
  const auto mix = e.dataset.options.find("mix");
  const bool is_mixed = mix != e.dataset.options.end() && !mix->empty();
  if (!is_mixed) tried.require_metrics(outputs, batch);
  if (tried.loss().graph() == nullptr) {
    const at::Tensor& output = model::main_output(outputs);
    for (std::string& warning : tried.warnings(output, batch)) probe.warnings.push_back(std::move(warning));
    tried.require_targets(output, batch, sets);
  }
  model.ptr()->eval();
  tried.require_scalars(batch);
  tried.require_sets(sets, std::max<std::int64_t>(probe.least_batch, 1));
  model.ptr()->train();
  if (!timed) return;
  const datasets::Batch whole = batch_of(/*whole=*/true);
  const double seconds = time_of_step(tried, t, whole);
  probe.step_seconds = seconds * static_cast<double>(e.accumulate);
  if (seconds < kMostSecondsToRecord) forecast_replay(tried, t, whole, each_once(all_names), probe);
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

// Reports a LibTorch error, which names no place, as an error of the key `model`.
void check_model(const CheckRequest&, const Task& task, const TakeReply& reply) try {
  const config::Component& chosen = task.experiment->model;
  const auto model = models::registry().build(chosen.name, chosen.options, models::Placement{.devices = {c10::kCPU}});
  const config::Component& loss = task.experiment->loss;
  require_outputs(*model.ptr(), train::losses().build(loss.name, loss.options), *task.experiment);
  model::freeze(*model.ptr(), task.experiment->freeze);
  reply(config::Value::object());
} catch (const c10::Error& error) {
  throw usage_error(error.msg(), "model");
}

const bool check_registered = verbs().add<CheckRequest>(CheckRequest::kVerb, "reads the model's file", check_model);

}  // namespace

}  // namespace ddp::rank
