#include "train/loss/loss.h"

#include <algorithm>
#include <filesystem>
#include <tuple>
#include <utility>

#include <ATen/core/Reduction.h>
#include <ATen/ops/aminmax.h>
#include <ATen/ops/ones_like.h>
#include <c10/util/StringUtil.h>

#include "base/error.h"
#include "model/call.h"
#include "train/loss/classes.h"

namespace ddp::train {

void LossSum::add(const BatchLoss& mean, std::int64_t count) {
  add(mean.value.item<double>(), count);
  add_scalars(mean, static_cast<double>(count));
}

void LossSum::add(const BatchLoss& loss, double counted, std::int64_t count) {
  add({.sum = loss.value.item<double>(), .weight = counted, .samples = count});
  add_scalars(loss, counted);
}

void LossSum::add_scalars(const BatchLoss& loss, double counted) {
  scalars.resize(std::max(scalars.size(), loss.scalars.size()));
  for (std::size_t i = 0; i < loss.scalars.size(); ++i) {
    scalars[i] += loss.scalars[i].second.item<double>() * counted;
  }
}

LossSum total_of(std::vector<LossSum> sums, bool as_tree) {
  while (as_tree && sums.size() > 1) {
    for (std::size_t i = 0; i < sums.size() / 2; ++i) {
      sums[i] = sums[2 * i];
      sums[i].add(sums[2 * i + 1]);
    }
    sums.resize(sums.size() / 2);
  }
  LossSum all;
  for (const LossSum& sum : sums) all.add(sum);
  return all;
}

namespace {

// Sums over all but the first dimension: [n].
at::Tensor of_samples(const at::Tensor& targets, std::int64_t samples) { return targets.reshape({samples, -1}).sum(1); }

}  // namespace

BatchLoss Loss::sum(const NamedTensors& outputs, const datasets::Batch& batch) const {
  const at::Tensor weights = weights_of(batch);
  const auto weighted = [&](const at::Tensor& each) {
    return (each * weights.to(each.device(), /*non_blocking=*/true)).sum();
  };
  const auto require_each = [](bool given, const std::string& remedy) {
    if (!given) {
      throw usage_error("the loss is one number a batch and takes no weights of samples", "dataset.weights", remedy);
    }
  };
  if (p_.graph) {
    BatchLoss loss = (*this)(outputs, batch.targets);
    require_each(loss.each.defined() && !p_.graph->gathers,
                 "return the losses of the samples, [n], or give the weights as a target to the loss");
    loss.value = weighted(loss.each);
    return loss;
  }
  const at::Tensor &output = model::main_output(outputs), &target = only_target(batch.targets);
  if (!weights.defined()) return {.value = call(p_.sum, output, target)};
  require_each(static_cast<bool>(p_.each), "leave it out");
  return {.value = weighted(of_samples(call(p_.each, output, target), weights.size(0)))};
}

double Loss::count(const datasets::Batch& batch) const {
  const at::Tensor weights = weights_of(batch);
  if (p_.graph) return weights.to(at::kDouble).sum().item<double>();
  const at::Tensor& target = only_target(batch.targets);
  if (!weights.defined()) {
    return p_.weights ? p_.weights(target).sum().item<double>() : static_cast<double>(target.numel());
  }
  const at::Tensor of_targets = p_.weights ? p_.weights(target) : at::ones_like(target, at::kDouble);
  return (of_samples(of_targets, weights.size(0)) * weights.to(of_targets.device(), at::kDouble)).sum().item<double>();
}

CheckTargets Loss::check_targets(const at::Tensor& output, const at::Tensor& target) const {
  if (p_.check_targets) return p_.check_targets(output, target);
  return [](const at::Tensor&) {};
}

BatchLoss Loss::operator()(const NamedTensors& outputs, const NamedTensors& targets) const {
  if (p_.graph) return p_.graph->of(outputs, model::in_order(targets_, targets));
  return {.value = (*this)(model::main_output(outputs), only_target(targets))};
}

std::vector<at::Tensor> Loss::model_inputs(const datasets::Batch& batch, const model::Numerics& numerics,
                                           c10::Device device) const {
  std::vector<at::Tensor> inputs = model::in_order(inputs_, numerics.prepared(on_device(batch.inputs, device)));
  if (!p_.graph || !p_.graph->is_of_model) return inputs;
  for (at::Tensor& target : model::in_order(model_targets_, on_device(batch.targets, device))) {
    inputs.push_back(std::move(target));
  }
  return inputs;
}

std::vector<std::string> names_of(const config::Component& dataset, const std::string& option) {
  std::vector<std::string> names;
  const auto found = dataset.options.find(option);
  if (found == dataset.options.end() || !found->is_array()) return names;
  for (const config::Value& one : *found) {
    const std::filesystem::path name = one.is_string() ? one.get<std::string>() : "";
    names.push_back((name.extension() == ".npy" ? name.stem() : name).string());
  }
  return names;
}

void Loss::bind(const torch::nn::Module& model, const config::Component& dataset) {
  const std::vector<std::string> inputs = names_of(dataset, "inputs");
  const std::vector<std::string> targets = names_of(dataset, "targets");
  const auto* const several = dynamic_cast<const model::GivesOutputs*>(&model);
  if (several != nullptr) {
    inputs_ = model::order_of(inputs, several->argument_names());
    model_targets_ = model::order_of(targets, several->argument_names(), std::max<std::size_t>(1, inputs.size()));
    if (p_.graph && p_.graph->is_of_model) {
      answers_next_ = several->answers_next();
      p_.graph->compares_samples = several->compares_samples();
    }
  }
  if (!p_.graph || p_.graph->is_of_model) return;
  const std::size_t outputs = several == nullptr ? 1 : several->output_names().size();
  targets_ = model::order_of(targets, p_.graph->argument_names, outputs);
}

std::vector<std::string> Loss::scalar_names(const torch::nn::Module& model) const {
  if (!p_.graph) return {};
  if (!p_.graph->is_of_model) return p_.graph->scalar_names;
  const auto* const several = dynamic_cast<const model::GivesOutputs*>(&model);
  if (several == nullptr) return {};
  return scalars_beside_loss(several->output_names(), several->scalar_names());
}

LossSum Loss::measure(const NamedTensors& outputs, const datasets::Batch& batch) const {
  const std::int64_t samples = batch.samples();
  if (weighs(batch) || divides_by_count()) {
    LossSum weighted;
    weighted.add(sum(outputs, batch), count(batch), samples);
    return weighted;
  }
  if (p_.graph) {
    LossSum sum;
    sum.add((*this)(outputs, batch.targets), samples);
    return sum;
  }
  const at::Tensor& output = model::main_output(outputs);
  const at::Tensor& target = only_target(batch.targets);
  const double mean = (*this)(output, target).item<double>();
  const auto all = static_cast<double>(samples);
  // Exactly 1 if every target weighs 1: the weight of such a batch is then exactly its number of samples.
  double share = 1;
  if (p_.weights && target.numel() > 0) {
    const at::Tensor weights = p_.weights(target);
    share = weights.sum().item<double>() / static_cast<double>(weights.numel());
  }
  if (share == 0) return {.sum = 0, .weight = 0, .samples = samples};
  return {.sum = mean * (all * share), .weight = all * share, .samples = samples};
}

at::Tensor as_output(const at::Tensor& target, const at::Tensor& output) {
  const bool is_one = target.is_floating_point() && target.dim() == 1 && output.dim() == 2 && output.size(1) == 1 &&
                      output.size(0) == target.size(0);
  return is_one ? target.unsqueeze(1) : target;
}

at::Tensor Loss::call(const LossFunction& function, const at::Tensor& output, const at::Tensor& given) const {
  const at::Tensor target = as_output(given, output);
  if (p_.check && !output.is_cpu()) p_.check(output, target);
  try {
    return function(output, target.to(output.device(), /*non_blocking=*/true));
  } catch (const c10::Error&) {
    if (p_.check) p_.check(output, target);
    throw;
  }
}

LossRegistry& losses() {
  static LossRegistry instance("loss");
  return instance;
}

Loss loss_for(const config::Experiment& experiment, const torch::nn::Module& model) {
  Loss loss = losses().build(experiment.loss.name, experiment.loss.with_copies());
  loss.bind(model, experiment.dataset);
  if (experiment.loader.sample == "weighted") loss.ignore_weights();
  return loss;
}

std::optional<Answers> answers_of(const Loss& loss, const NamedTensors& outputs, const NamedTensors& targets,
                                  bool asked) {
  if (loss.graph() == nullptr) {
    const at::Tensor& output = model::main_output(outputs);
    return Answers{.output = output, .target = as_output(only_target(targets), output)};
  }
  at::Tensor output = tensor_named(model::kLogits, outputs);
  const bool is_logits = output.defined();
  if (!is_logits && outputs.size() == 1 && !loss.graph()->is_of_model) output = outputs.front().second;
  if (!output.defined() || targets.size() != 1) return {};
  at::Tensor target = targets.front().second;
  const bool are_classes = is_logits || loss.graph()->of_classes || target.is_floating_point();
  if (!asked && !are_classes) return {};
  if (loss.answers_next() && output.dim() == 3 && target.dim() == 2 && target.size(1) > 0) {
    output = output.slice(1, 0, -1);
    target = target.slice(1, 1);
  }
  return Answers{.output = output, .target = target};
}

const at::Tensor& only_target(const NamedTensors& targets) {
  if (targets.size() == 1) return targets.front().second;
  std::string names;
  for (const auto& [name, tensor] : targets) names += (names.empty() ? "" : ", ") + name;
  throw usage_error("the dataset gives " + std::to_string(targets.size()) + " targets (" + names + ")", "loss",
                    "this loss takes one target: choose one in the dataset, or give loss = \"model\" or \"exported\"");
}

void check_indices(const at::Tensor& target, std::int64_t classes, std::int64_t ignored) {
  const at::Tensor counted = target.masked_select(target.ne(ignored));
  if (counted.numel() == 0) return;
  const auto [least, most] = at::aminmax(counted);
  const auto low = least.item<std::int64_t>();
  const auto high = most.item<std::int64_t>();
  if (low >= 0 && high < classes) return;
  const std::string wrong = std::to_string(low < 0 ? low : high);
  throw usage_error("a target is class " + wrong + ", and the model gives " + std::to_string(classes) +
                        (classes == 1 ? " class" : " classes"),
                    "model",
                    "classes are counted from 0: give the model one output for each class, or set "
                    "loss.ignore_index of cross_entropy to ignore such targets");
}

void refuse_shapes(const at::Tensor& output, const at::Tensor& target, const std::string& needs) {
  throw usage_error("the model gives values of shape " + c10::str(output.sizes()) + " for targets of shape " +
                        c10::str(target.sizes()),
                    "loss", needs);
}

namespace {

void require_floats(const std::string& name, const at::Tensor& target) {
  if (target.is_floating_point()) return;
  throw usage_error(name + " needs targets that are numbers; this dataset has class indices", "loss",
                    "use loss = \"cross_entropy\"; if they are counts or amounts, store them as float32");
}

}  // namespace

void check_numbers(const std::string& name, const at::Tensor& output, const at::Tensor& target) {
  require_floats(name, target);
  if (output.sizes() != target.sizes()) refuse_shapes(output, target, name + " needs them equal");
}

void check_range(const std::string& name, const at::Tensor& targets, const TargetRange& range) {
  require_floats(name, targets);
  if (targets.numel() == 0) return;
  const auto [least, most] = at::aminmax(targets);  // NaN if one of them is NaN
  if (least.item<double>() >= range.least && most.item<double>() <= range.most) return;
  const at::Tensor bad = targets.ge(range.least).logical_and(targets.le(range.most)).logical_not();
  throw usage_error("a target is " + c10::str(targets.masked_select(bad)[0].item<double>()) + ", and " + name +
                        " takes " + range.in_words,
                    "loss", range.remedy);
}

Loss loss_of_numbers(const std::string& name, const ReducedLoss& reduced) {
  const auto checked = [name, reduced](std::int64_t reduction) -> LossFunction {
    return [name, reduced, reduction](const at::Tensor& output, const at::Tensor& target) {
      check_numbers(name, output, target);
      return reduced(output, target, reduction);
    };
  };
  return Loss(LossParts{.mean = checked(at::Reduction::Mean),
                        .check_targets = [name](const at::Tensor&, const at::Tensor&) -> CheckTargets {
                          return [name](const at::Tensor& targets) { check_range(name, targets, {}); };
                        },
                        .each = checked(at::Reduction::None)});
}

}  // namespace ddp::train
