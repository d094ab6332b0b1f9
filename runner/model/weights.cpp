#include "model/weights.h"

#include <fnmatch.h>
#include <algorithm>
#include <map>
#include <set>
#include <utility>

#include <ATen/core/grad_mode.h>
#include <c10/util/StringUtil.h>
#include <torch/nn/module.h>

#include "base/error.h"
#include "config/text/source.h"
#include "model/named_tensors.h"

namespace ddp::model {

bool matches_name(const std::string& pattern, const std::string& name) {
  return fnmatch(pattern.c_str(), name.c_str(), FNM_NOESCAPE) == 0;
}

namespace {

constexpr const char* kFreezeKey = "freeze";

bool any_trains(const NamedTensors& parameters) { return !trained_of(parameters).empty(); }

// Throws the error of a model that has nothing to train even if nothing is frozen.
void require_trainable(const NamedTensors& parameters) {
  if (parameters.empty()) {
    throw usage_error("the model has no parameters, so there is nothing to train", "model",
                      "use a model with parameters; buffers are not trained");
  }
  if (any_trains(parameters)) return;
  throw usage_error("the model has requires_grad = False in every parameter, so there is nothing to train", "model",
                    "call requires_grad_(True) on the parameters to train, and export the model again");
}

bool freeze_matches(const NamedTensors& parameters, const std::string& pattern) {
  bool any = false;
  for (const auto& [name, tensor] : parameters) {
    if (!matches_name(pattern, name)) continue;
    tensor.requires_grad_(false);
    any = true;
  }
  return any;
}

}  // namespace

void freeze(torch::nn::Module& module, const std::vector<std::string>& patterns) {
  const NamedTensors parameters = named(module.named_parameters());
  require_trainable(parameters);
  std::string unmatched;
  for (const std::string& pattern : patterns) {
    if (!freeze_matches(parameters, pattern)) unmatched += (unmatched.empty() ? "\"" : ", \"") + pattern + "\"";
  }
  if (!unmatched.empty()) {
    throw usage_error(
        "matches no parameter of the model: " + unmatched, kFreezeKey,
        "use the names of state_dict(), such as \"" + parameters.front().first + "\"; * stands for any characters");
  }
  if (any_trains(parameters)) return;
  throw usage_error("freezes every parameter of the model", kFreezeKey, "leave some parameters to train");
}

namespace {

constexpr const char* kOtherModel =
    "the weights are of another model: use that one (for an exported model: --set model.path=FILE), or start a new run "
    "with this one";

}  // namespace

std::string type_and_shape(const at::Tensor& tensor) { return c10::str(tensor.scalar_type(), tensor.sizes()); }

std::int64_t count_of(const NamedTensors& tensors) {
  std::int64_t numbers = 0;
  for (const auto& [name, tensor] : tensors) numbers += tensor.numel();
  return numbers;
}

std::int64_t bytes_of(const NamedTensors& tensors) {
  std::int64_t bytes = 0;
  for (const auto& [name, tensor] : tensors) bytes += static_cast<std::int64_t>(tensor.nbytes());
  return bytes;
}

std::string misfit(const NamedTensors& tensors, const NamedTensors& of_model) {
  std::map<std::string, at::Tensor> places(of_model.begin(), of_model.end());
  for (const auto& [name, tensor] : tensors) {
    const auto place = places.find(name);
    const std::string shown = config::in_quotes(name);
    if (place == places.end())
      return "has " + shown + ", " + type_and_shape(tensor) + ", which the model does not have";
    if (type_and_shape(place->second) != type_and_shape(tensor)) {
      return shown + " is " + type_and_shape(tensor) + ", in the model " + type_and_shape(place->second);
    }
    places.erase(place);
  }
  if (places.empty()) return "";
  const auto& [name, tensor] = *places.begin();
  return "lacks " + config::in_quotes(name) + ", in the model " + type_and_shape(tensor);
}

NamedTensors weights_of(const torch::nn::Module& module) {
  NamedTensors weights = named(module.named_parameters());
  for (auto& buffer : named(module.named_buffers())) weights.push_back(std::move(buffer));
  return weights;
}

void load_weights(const NamedTensors& tensors, torch::nn::Module& module, const std::string& where) {
  const at::NoGradGuard no_grad;
  const NamedTensors weights = weights_of(module);
  if (const std::string what = misfit(tensors, weights); !what.empty()) throw training_error(what, where, kOtherModel);
  std::map<std::string, at::Tensor> targets(weights.begin(), weights.end());
  for (const auto& [name, tensor] : tensors) targets.at(name).copy_(tensor);
}

namespace {

// Applies the prefix replacements in order, each to the result of the previous one.
std::string renamed(std::string name, const config::Value& prefixes) {
  for (const auto& [prefix, replacement] : prefixes.items()) {
    if (name.starts_with(prefix)) name = replacement.get<std::string>() + name.substr(prefix.size());
  }
  return name;
}

bool converts(const at::Tensor& from, const at::Tensor& to) {
  if (from.sizes() != to.sizes()) return false;
  return from.scalar_type() == to.scalar_type() || (from.is_floating_point() && to.is_floating_point());
}

// Assigns the tensors of a file to the tensors of a model, and collects the mismatches.
class Fitting {
 public:
  Fitting(const config::InitFrom& from, const torch::nn::Module& module) : from_(from), weights_(weights_of(module)) {
    for (auto& [name, tensor] : weights_) places_[name] = &tensor;
    for (const auto& [name, tensor] : weights_) own_.push_back(tensor.unsafeGetTensorImpl());
  }

  void take(const std::string& file_name, const at::Tensor& tensor) {
    const std::string name = renamed(file_name, from_.rename);
    const std::string shown = "\"" + file_name + "\"" + (name == file_name ? "" : " (\"" + name + "\")");
    if (is_skipped(name)) return;
    const auto place = places_.find(name);
    if (place == places_.end()) {
      problems_ += "\n  left over: " + shown;
    } else if (!taken_.insert(name).second) {
      problems_ += "\n  a second tensor of this name: " + shown;
    } else if (!converts(tensor, *place->second)) {
      problems_ += "\n  differs: " + shown + " is " + type_and_shape(tensor) + ", in the model " +
                   type_and_shape(*place->second);
    } else {
      loaded_.insert(place->second->unsafeGetTensorImpl());
      *place->second = tensor.to(place->second->scalar_type());
    }
  }

  // Returns the weights after all tensors of the file were taken. Throws ddp::Error (usage).
  NamedTensors finish(const std::string& where) {
    for (std::size_t i = 0; i < weights_.size(); ++i) {
      const std::string& name = weights_[i].first;
      if (taken_.count(name) > 0 || loaded_.count(own_[i]) > 0 || is_skipped(name)) continue;
      problems_ += "\n  missing: \"" + name + "\"";
    }
    for (const std::string& pattern : from_.skip) {
      if (matched_.count(pattern) == 0) problems_ += "\n  skip matches nothing: \"" + pattern + "\"";
    }
    if (problems_.empty()) return only_taken();
    throw usage_error("does not fit the model:" + problems_, where,
                      "init_from.rename changes prefixes of the file's names, init_from.skip leaves names out");
  }

 private:
  bool is_skipped(const std::string& name) {
    bool skipped = false;
    for (const std::string& pattern : from_.skip) {
      if (!matches_name(pattern, name)) continue;
      matched_.insert(pattern);
      skipped = true;
    }
    return skipped;
  }

  // Gives all names of a tied parameter the tensor that the file has for one of them.
  NamedTensors only_taken() {
    std::map<const void*, at::Tensor> of;
    for (std::size_t i = 0; i < weights_.size(); ++i) {
      if (taken_.count(weights_[i].first) > 0) of[own_[i]] = weights_[i].second;
    }
    for (std::size_t i = 0; i < weights_.size(); ++i) {
      if (const auto found = of.find(own_[i]); found != of.end()) weights_[i].second = found->second;
    }
    return weights_;
  }

  const config::InitFrom& from_;
  NamedTensors weights_;  // by all names; initially the model's own
  std::map<std::string, at::Tensor*> places_;
  std::vector<const void*> own_;  // the model's tensor of each weight
  std::set<std::string> taken_;
  std::set<const void*> loaded_;
  std::set<std::string> matched_;
  std::string problems_;
};

}  // namespace

NamedTensors initial_weights(const NamedTensors& file, const config::InitFrom& from, const torch::nn::Module& module,
                             const std::string& where) {
  Fitting fitting(from, module);
  for (const auto& [name, tensor] : file) fitting.take(name, tensor);
  return fitting.finish(where);
}

}  // namespace ddp::model
