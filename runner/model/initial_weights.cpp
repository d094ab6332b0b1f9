#include "model/initial_weights.h"

#include <algorithm>
#include <map>
#include <set>

#include <torch/nn/module.h>

#include "base/error.h"
#include "model/name_pattern.h"
#include "model/weights.h"

namespace ddp::model {
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
