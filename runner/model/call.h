#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <ATen/core/Tensor.h>
#include <torch/nn/modules/container/any.h>

#include "model/named_tensors.h"

namespace ddp::model {

// The second base class of a module that takes any number of inputs, by `at::Tensor forward(std::vector<at::Tensor>)`.
struct TakesInputs {
  virtual ~TakesInputs() = default;
};

// The second base class of a module with several outputs, or one that computes its own loss (loss = "model").
struct GivesOutputs {
  virtual ~GivesOutputs() = default;
  // Returns all outputs for these inputs, under their names: the keys of a dict, "0", "1", … of a list, or "output".
  // With loss = "model" the targets follow the inputs, and the first output, or "loss" of a dict, is the loss.
  virtual NamedTensors outputs_of(const std::vector<at::Tensor>& inputs) = 0;
  // The names of outputs_of(), and of the ones that have no dimensions.
  virtual std::vector<std::string> output_names() const = 0;
  virtual std::vector<std::string> scalar_names() const = 0;
  // The outputs for a prediction, which has no targets: only those that do not depend on them. Names as for
  // outputs_of().
  virtual NamedTensors predicted(const std::vector<at::Tensor>& inputs) = 0;
  // The names of forward's arguments, "" if unknown: the inputs, and with loss = "model" the targets after them.
  virtual std::vector<std::string> argument_names() const { return {}; }
  // The integers of each argument are below its number of values; 0: unknown.
  virtual std::vector<std::int64_t> argument_values() const { return {}; }
  // Is the loss of "logits" and the targets that one place later have the answers? So causal language models of
  // transformers compute it.
  virtual bool answers_next() const { return false; }
  // Does the loss that it computes compare the samples of a batch with each other?
  virtual bool compares_samples() const { return false; }
  // With loss = "model": the type of the first target, for a model that gets so many inputs.
  virtual std::optional<c10::ScalarType> target_type(std::size_t inputs) const = 0;
  // Does it draw random numbers in evaluation?
  virtual bool draws_in_evaluation() const { return false; }
  // The number of calls of operators in a forward that trains; 0: unknown.
  virtual std::int64_t operators() const { return 0; }
};

// The second base class of a module that may train differently from what its user expects.
struct HasWarnings {
  virtual ~HasWarnings() = default;
  // Warnings for the user, before training on so many ranks; one line each.
  virtual std::vector<std::string> warnings(int ranks) const = 0;
};

// The places of given arguments in the order in which a function takes them.
using ArgumentOrder = std::vector<std::size_t>;
// Returns the order of the arguments `given` for a function whose arguments from the place `first` on have these names.
// Empty: as given, because they are in its order, or have other names.
ArgumentOrder order_of(const std::vector<std::string>& given, const std::vector<std::string>& names,
                       std::size_t first = 0);
// Puts arguments into this order.
template <class T>
std::vector<T> in_order(const ArgumentOrder& order, std::vector<T> given) {
  if (order.size() != given.size()) return given;
  std::vector<T> ordered;
  ordered.reserve(given.size());
  for (const std::size_t place : order) ordered.push_back(std::move(given[place]));
  return ordered;
}

// The maximum number of inputs of a module whose forward has one parameter for each input.
inline constexpr std::size_t kMostNamedInputs = 6;

// Returns the outputs of a model for the inputs of a batch, in their order. The module's `forward` takes one tensor for
// each input, or a vector if the module derives from TakesInputs, and returns one tensor, unless the module derives
// from GivesOutputs. Throws ddp::Error (usage) if the batch has too many inputs, and c10::Error if `forward` has
// another number of parameters; a c10::IndexError names the inputs' values.
NamedTensors call(torch::nn::AnyModule& model, const std::vector<at::Tensor>& inputs);

// The outputs of a model that gives one tensor.
NamedTensors one_output(at::Tensor output);

// Tells whether an output of this name is an element of a list: "0", "1", …
bool is_of_list(const std::string& name);

// The output with the answers of a model: "logits" of a dict.
inline constexpr const char* kLogits = "logits";

// Returns the place of an output: the only one, the one with this key of a dict, or the first one of a list. Throws
// ddp::Error (usage), which names `where`, for a dict without the key.
std::size_t place_of(const std::string& key, const std::vector<std::string>& names, const std::string& where,
                     const std::string& remedy);
// Returns the place of the output that a named loss takes: that of "logits".
std::size_t main_place(const std::vector<std::string>& names, const std::string& where = "model");
// Returns this output.
const at::Tensor& main_output(const NamedTensors& outputs);

// Returns the place of "logits", or else of the first output with dimensions; the end if there is none.
NamedTensors::const_iterator main_answer(const NamedTensors& outputs);

// An answer of a model in a prediction.
struct Prediction {
  at::Tensor output;
  bool is_logits = false;    // it is the output "logits"
  NamedTensors others = {};  // further outputs with numbers for each sample: [n] or [n, k]
};
// Returns "logits", or else the first output with dimensions. Throws ddp::Error (usage) if there is none.
Prediction predict(torch::nn::AnyModule& model, const std::vector<at::Tensor>& inputs);

}  // namespace ddp::model
