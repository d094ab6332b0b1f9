#include "rank/set_shapes.h"

#include <algorithm>
#include <cstdint>
#include <string>
#include <vector>

#include <c10/util/StringUtil.h>

#include "base/error.h"
#include "datasets/transform/transform.h"
#include "rank/transforms_setting.h"

namespace ddp::rank {
namespace {

constexpr const char* kTransformsOption = "transforms";

using Shapes = std::vector<std::vector<std::int64_t>>;

// The shapes of a sample's inputs.
Shapes shapes_of_sample(const datasets::Batch& batch) {
  Shapes shapes;
  for (const auto& [name, input] : batch.inputs) shapes.push_back(input.sizes().slice(1).vec());
  return shapes;
}

std::string in_words(const Shapes& shapes) {
  std::string text;
  for (const auto& shape : shapes) text += (text.empty() ? "" : " and ") + c10::str(at::IntArrayRef(shape));
  return text;
}

// Returns the setting of a list of transforms whose images get this size: a Resize after the last transform of pixels.
std::string resized(const std::string& dataset, const config::Value& list, const std::vector<std::int64_t>& shape) {
  const std::string resize = resize_item("[" + std::to_string(shape[1]) + ", " + std::to_string(shape[2]) + "]");
  std::vector<std::string> items;
  bool is_there = false;
  for (const config::Value& one : list) {
    const auto transform = datasets::transforms().build(one.at("type"), one);
    const bool is_of_floats = dynamic_cast<const datasets::FloatTransform*>(transform.get()) != nullptr;
    if (is_of_floats && !is_there) items.push_back(resize);
    is_there = is_there || is_of_floats;
    items.push_back(transform_item(one));
  }
  if (!is_there) items.push_back(resize);
  return transforms_setting(dataset, items);
}

// Samples of validation or of the test, from data of their own.
struct OwnSet {
  const char* role = "";  // the section
  const data::Set& set;
  const config::Component& dataset;
};

bool takes_transforms(const config::Experiment& e, const config::Component& dataset) {
  const config::Components components = e.components();
  const config::Spec* const spec = components.find("dataset", dataset.name);
  return spec != nullptr && std::any_of(spec->options.begin(), spec->options.end(),
                                        [](const config::Option& option) { return option.name == kTransformsOption; });
}

std::string remedy_for_set(const config::Experiment& e, const OwnSet& own, const Shapes& training, const Shapes& its) {
  const bool are_images = takes_transforms(e, own.dataset) && training.size() == 1 && its.size() == 1 &&
                          training[0].size() == 3 && its[0].size() == 3 && training[0][0] == its[0][0];
  if (!are_images) return "give samples of the training's shape";
  // A list that the set inherits has random transforms, which an evaluation replaces: the set must go on inheriting it.
  const bool inherits = own.dataset.name == e.dataset.name && !data::has_own_transforms(e, own.dataset);
  const config::Component& dataset = inherits ? e.dataset : own.dataset;
  const std::string key = inherits ? "dataset" : std::string(own.role) + ".dataset";
  return "give its images the training's size: " +
         resized(key, dataset.options.value(kTransformsOption, config::Value::array()), training[0]);
}

// Returns the place of the first sample: its file, or the path that the dataset reads; " of ", or "".
std::string of_file(const OwnSet& own) {
  const std::string file = own.set.map()->sample_path(own.set.samples[0].item<std::int64_t>());
  if (!file.empty()) return " of " + file;
  const auto path = own.dataset.options.find("path");
  return path != own.dataset.options.end() && path->is_string() ? " of " + path->get<std::string>() : "";
}

// Returns the model's output for samples of the set. Throws if the model does not take them.
at::Tensor output_for(const Task& t, const TriedModel& model, const OwnSet& own, const Shapes& training,
                      const datasets::Batch& batch) {
  const Shapes its = shapes_of_sample(batch);
  try {
    return model.output_of(batch.inputs);
  } catch (const Error& error) {
    if (its == training) throw;
    const std::string of = own.role;
    throw usage_error("the " + of + " sample" + of_file(own) + " has the shape " + in_words(its) +
                          ", and the training samples have " + in_words(training) + ": " + error.summary(),
                      of + ".dataset", remedy_for_set(*t.experiment, own, training, its));
  }
}

void require_shape_of(const Task& t, const TriedModel& model, const OwnSet& own, const Shapes& training,
                      std::int64_t count) {
  if (!own.set.dataset || own.set.of_training || own.set.size() < count || own.dataset.name.empty()) return;
  const datasets::Batch batch = data::first_samples(own.set, count);
  if (batch.samples() < count) return;
  const at::Tensor output = output_for(t, model, own, training, batch);
  try {
    model.loss_of(output, batch);
  } catch (const Error& error) {
    throw usage_error(error.summary(), std::string(own.role) + ".dataset", error.remedy());
  }
}

}  // namespace

void require_shapes_of_sets(const Task& t, const TriedModel& model, const data::Sets& sets,
                            const datasets::Batch& training, std::int64_t count) {
  const config::Experiment& e = *t.experiment;
  const Shapes shapes = shapes_of_sample(training);
  require_shape_of(t, model, {.role = "validation", .set = sets.validation, .dataset = e.validation.dataset}, shapes,
                   count);
  require_shape_of(t, model, {.role = "test", .set = sets.test, .dataset = e.test.dataset}, shapes, count);
}

}  // namespace ddp::rank
