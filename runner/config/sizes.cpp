#include "config/sizes.h"

#include <algorithm>

#include "config/fitting_model.h"

namespace ddp::config {
namespace {

// True for a size that must equal the size of the data; a model may exceed the other sizes.
bool is_exact(const std::string& fact, const Value& facts) {
  if (fact == "out_features") return !facts.contains("num_classes");
  return fact == "in_features" || fact == "in_channels" || fact == "image_size";
}

void check_size(const Option& option, const Value& given, const Value& facts, const Loaded& loaded) {
  const Value& size = facts.at(option.from_data);
  if (!given.is_number_integer() || !size.is_number_integer()) return;
  const bool fits = is_exact(option.from_data, facts) ? given == size : given >= size;
  if (fits) return;
  const std::string key = "model." + option.name;
  const bool counts_classes = option.from_data == "out_features" && facts.contains("num_classes");
  throw loaded.error(key,
                     "\"" + key + "\" is " + given.dump() + ", but the data of \"" + loaded.experiment.dataset.name +
                         "\" have " + size.dump() + (counts_classes ? " classes" : " (" + option.from_data + ")"),
                     "leave it out: the data determine it");
}

// The error of a size that neither the file nor the data give.
Error no_size(const Option& option, const Spec& model, const Value& facts, const Loaded& loaded) {
  const std::string& dataset = loaded.experiment.dataset.name;
  SampleForm sample = sample_form_of(facts);
  sample.has_scale = has_scale(loaded.experiment.components(), dataset);
  const std::string fits = fitting_models(sample, facts.value("out_features", std::int64_t{1}));
  if (const std::string what = misfit(model, dataset, sample); !what.empty() && !fits.empty()) {
    return loaded.error("model", what, fits);
  }
  if (const auto inputs = facts.value(kInputsFact, std::int64_t{1}); inputs > 1 && model.traits.contains("inputs")) {
    return loaded.error("model",
                        "the model \"" + model.name + "\" takes one input, and the dataset \"" + dataset + "\" gives " +
                            std::to_string(inputs),
                        "join the inputs into one array, or give a model written in Python that takes them");
  }
  const bool counts_outputs = option.from_data == "out_features" || option.from_data == "num_classes";
  if (counts_outputs && facts.value(kLoneNumberFact, false)) {
    return loaded.error("model",
                        "\"model." + option.name + "\" is missing, and a target of the dataset \"" + dataset +
                            "\" is one floating-point number, without an extent",
                        "to predict numbers, give targets of the shape [n, 1]: y.reshape(-1, 1) in NumPy; for "
                        "classes, give integers: y.astype(\"int64\")");
  }
  return loaded.error(
      "model", "\"model." + option.name + "\" is missing, and the dataset \"" + dataset + "\" does not determine it",
      "give it: " + option.doc);
}

const Spec* model_of(const Experiment& e, const Components& components) {
  return components.find("model", e.model.name);
}

}  // namespace

bool leaves_sizes(const Experiment& e, const Components& components) {
  const Spec* model = model_of(e, components);
  return model != nullptr && std::any_of(model->options.begin(), model->options.end(), [&](const Option& option) {
           return !option.from_data.empty() && !e.model.options.contains(option.name);
         });
}

void fill_sizes(Experiment& e, const Loaded& loaded, const Components& components, const Value& facts) {
  const Spec* model = model_of(e, components);
  if (model == nullptr) return;
  const auto left = [&](const Option& option) {
    return !option.from_data.empty() && !e.model.options.contains(option.name) && !facts.contains(option.from_data);
  };
  const auto undetermined = std::find_if(model->options.begin(), model->options.end(), left);
  if (undetermined != model->options.end()) throw no_size(*undetermined, *model, facts, loaded);
  for (const Option& option : model->options) {
    if (option.from_data.empty()) continue;
    const auto given = e.model.options.find(option.name);
    const bool told = facts.contains(option.from_data);
    if (given != e.model.options.end()) {
      if (told) check_size(option, *given, facts, loaded);
    } else if (told) {
      e.model.options[option.name] = facts.at(option.from_data);
    }
  }
}

}  // namespace ddp::config
