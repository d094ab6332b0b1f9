#include "rank/tried_model.h"

#include <ATen/core/grad_mode.h>
#include <ATen/ops/full_like.h>

#include "base/error.h"
#include "config/length.h"
#include "dist/parallel/parallel.h"
#include "model/call.h"
#include "model/doubts.h"
#include "model/numerics.h"
#include "rank/data.h"
#include "rank/gradient_paths.h"
#include "train/loss/loss.h"

namespace ddp::rank {
namespace {

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

// Returns the error of a model that does not take the inputs. `why`: LibTorch's reason.
Error unfit_inputs(const Task& t, const NamedTensors& inputs, const std::string& why) {
  const config::Experiment& e = *t.experiment;
  return usage_error("the model \"" + e.model.name + "\" does not accept inputs of the dataset \"" + e.dataset.name +
                         "\", of shape " + shapes_of(inputs) + ": " + why,
                     "model");
}

bool is_of_batch_norm(const std::string& why) {
  return why.find("Expected more than 1 value per channel") != std::string::npos;
}

constexpr const char* kOneValue =
    "a batch of one sample, and batch norm cannot train on one value per channel: its running variance would be NaN";

}  // namespace

at::Tensor TriedModel::call(const NamedTensors& inputs) const {
  const model::Numerics numerics = numerics_of(task_);
  return under_casts(numerics, [&] { return model::call(model_, numerics.prepared(tensors_of(inputs))); });
}

at::Tensor TriedModel::output_of(const NamedTensors& inputs) const try { return call(inputs); } catch (const c10::Error& error) {
  if (is_of_batch_norm(error.msg()) && inputs.front().second.size(0) == 1) {
    throw usage_error(std::string("each step has ") + kOneValue, "batch_size", "give a batch_size of 2 or more");
  }
  throw unfit_inputs(task_, inputs, error.what_without_backtrace());
}

void TriedModel::require_last_batch(const datasets::Batch& batch, std::int64_t train_samples) const {
  const config::Experiment& e = *task_.experiment;
  // The model is tried in one process, whatever the number of ranks.
  const bool is_split = dist::joins_group(e.parallel) && e.device_pool.is_array();
  const int ranks = is_split ? static_cast<int>(e.device_pool.size()) : 1;
  const std::int64_t of_rank = config::samples_of_rank(train_samples, ranks, e.loader.drop_last);
  if (e.loader.drop_last_batch || of_rank % *e.batch_size != 1) return;
  const std::int64_t batches = config::micro_batches_of_rank(train_samples, ranks, *e.batch_size, e.loader);
  if (e.steps && *e.steps * e.accumulate < batches) return;  // the run ends before that batch
  try {
    call(batch.first(1).inputs);
  } catch (const std::exception& error) {  // of LibTorch, or of a layer that names itself
    if (!is_of_batch_norm(error.what())) throw;
    throw usage_error("the last of a rank's " + std::to_string(of_rank) + " samples in an epoch is " + kOneValue,
                      "batch_size",
                      "leave that batch out: --set loader.drop_last_batch=true; or give another batch_size");
  }
}

at::Tensor TriedModel::loss_of(const at::Tensor& output, const datasets::Batch& batch) const {
  const config::Experiment& e = *task_.experiment;
  const auto loss = train::losses().build(e.loss.name, e.loss.options);
  try {
    return under_casts(numerics_of(task_), [&] { return loss(output, train::only_target(batch.targets)); });
  } catch (const c10::Error& error) {
    throw usage_error("the loss \"" + e.loss.name + "\" does not accept outputs of shape " + c10::str(output.sizes()) +
                          " with targets of shape " + shapes_of(batch.targets) + ": " + error.msg(),
                      "loss");
  }
}

void TriedModel::require_gradients(const at::Tensor& loss, const std::function<datasets::Batch()>& whole_batch) const {
  const config::Experiment& e = *task_.experiment;
  if (!dist::joins_group(e.parallel) || e.distributed.find_unused_parameters || e.distributed.static_graph) return;
  const NamedTensors trained = trained_of(each_once(named(model_.ptr()->named_parameters())));
  if (without_gradient(loss, trained).empty()) return;
  const datasets::Batch batch = whole_batch();
  const auto unused = without_gradient(loss_of(output_of(batch.inputs), batch), trained);
  if (unused.empty()) return;
  const Error error = dist::unused_parameters(Fault::usage, unused);
  const auto* const model = dynamic_cast<const model::HasDoubts*>(model_.ptr().get());
  const std::string outputs = model == nullptr ? "" : model->outputs_without_loss();
  throw usage_error(error.summary() + (outputs.empty() ? "" : "\n  " + outputs), error.where(), error.remedy());
}

void TriedModel::require_targets(const at::Tensor& output, const datasets::Batch& batch, const data::Sets& sets) const {
  const config::Experiment& e = *task_.experiment;
  const auto check =
      train::losses().build(e.loss.name, e.loss.options).check_targets(output, train::only_target(batch.targets));
  const auto require = [&](const data::Set& set) {
    return set.map() != nullptr && rank::require_targets(check, *set.map(), set.samples);
  };
  const bool all_of_training = require(sets.train);
  for (const data::Set* set : {&sets.validation, &sets.test}) {
    if (!set->of_training || !all_of_training) require(*set);
  }
}

std::int64_t TriedModel::tokens_of(const data::Set& train) const {
  if (task_.experiment->model.options.contains("vocab_size")) return 0;
  return train.dataset->facts().value("vocab_size", std::int64_t{0});
}

std::string TriedModel::doubt_of_tokens(const at::Tensor& output, const data::Set& train) const {
  const std::int64_t count = tokens_of(train);
  if (count == 0 || output.dim() != 3 || output.size(2) <= count) return "";
  return "the model gives " + std::to_string(output.size(2)) + " logits, and the tokenizer has " +
         std::to_string(count) + " tokens: generate fails if the model draws one of the others; export it with " +
         std::to_string(count);
}

void TriedModel::require_tokens(const data::Set& train, datasets::Batch batch) const {
  const std::int64_t count = tokens_of(train);
  if (count == 0 || batch.inputs.front().second.scalar_type() != at::kLong) return;
  for (auto& [name, input] : batch.inputs) input = at::full_like(input, count - 1);
  const at::NoGradGuard no_grad;
  try {
    call(batch.inputs);
  } catch (const c10::IndexError&) {
    const std::string all = std::to_string(count);
    const bool exported = task_.experiment->model.options.contains("path");
    throw usage_error(
        "the data of \"" + task_.experiment->dataset.name + "\" have " + all + " tokens, and the model takes fewer",
        "model",
        exported ? "export it again for " + all + " tokens: with the class's own argument, and --input " +
                       std::to_string(batch.inputs.front().second.size(-1)) + ":int64:" + all
                 : "give the model " + all + " tokens");
  } catch (const c10::Error&) {
    return;  // output_of() reports other errors
  } catch (const Error&) {
    return;
  }
}

}  // namespace ddp::rank
