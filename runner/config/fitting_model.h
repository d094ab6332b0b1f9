#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "config/components.h"

namespace ddp::config {

// The only input of a sample.
struct SampleForm {
  std::vector<std::int64_t> shape = {};
  bool integers = false;
  bool has_scale = false;  // the dataset has the option `scale`, which makes floats of integers

  // "rows" of numbers, "images", "tokens"; "": inputs of another form.
  std::string kind() const;
  std::int64_t numbers() const;  // in a sample
};

// Has the dataset the option `scale`?
bool has_scale(const Components& components, const std::string& dataset);

// The key of a sample's form in the facts of the data (data::facts_of). The facts lack it if a sample has several
// inputs.
inline constexpr const char* kSampleFact = "sample";
Value to_json(const SampleForm& form);
// Reads the form from facts; its shape is empty if they lack it.
SampleForm sample_form_of(const Value& facts);

// The key of the number of inputs of a sample in the facts.
inline constexpr const char* kInputsFact = "inputs";
// The key of a fact that is true if a target is one number, which is no class.
inline constexpr const char* kLoneNumberFact = "lone_number";

// Returns the error's text if the model takes another kind of samples, by its trait "inputs"; "": it may take these.
std::string misfit(const Spec& model, const std::string& dataset, const SampleForm& sample);

// Returns the models that take such samples, as settings to paste. `outputs`: the model's outputs for the targets.
std::string fitting_models(const SampleForm& sample, std::int64_t outputs);

// Returns the key of the layer's wrong size, "model.layers[4].in_features", or of its type; "model": the reason names
// no layer. `why`: the reason of the model.
std::string place_of_layer(const Value& layers, const std::string& why);

// Returns the remedy for a `sequential` whose layers do not take such samples; "": none is known. `why`: LibTorch's
// reason, which has the sizes of the layer that failed.
std::string remedy_for_layers(const Value& layers, const SampleForm& sample, const std::string& why);

}  // namespace ddp::config
