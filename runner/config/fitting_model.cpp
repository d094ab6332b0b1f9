#include "config/fitting_model.h"

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <optional>
#include <string_view>

namespace ddp::config {
namespace {

constexpr const char* kRows = "rows";
constexpr const char* kImages = "images";
constexpr const char* kTokens = "tokens";

// "[3, 8, 8]"
std::string in_words(const std::vector<std::int64_t>& shape) {
  std::string text;
  for (const std::int64_t extent : shape) text += (text.empty() ? "" : ", ") + std::to_string(extent);
  return "[" + text + "]";
}

std::string form_of(const std::string& kind) {
  if (kind == kRows) return "rows of numbers, of the shape [in_features]";
  if (kind == kImages) return "images, of the shape [3, height, width]";
  return "tokens, whole numbers of the shape [block_size]";
}

// Returns the remedy for images with their channels last; "": they have not. [64, 3, 3] are 64 channels.
std::string moved_channels(const SampleForm& sample) {
  const auto& shape = sample.shape;
  if (shape.size() != 3 || shape[0] == shape[2] || shape[1] == shape[2]) return "";
  if (shape[2] != 1 && shape[2] != 3 && shape[2] != 4) return "";
  return "the model wants [n, " + std::to_string(shape[2]) + ", " + std::to_string(shape[0]) + ", " +
         std::to_string(shape[1]) + "]: move the channels first, as numpy.moveaxis(x, -1, 1) does";
}

// Returns the remedy for whole numbers where a model takes others; "": the dataset has none.
std::string to_floats(const SampleForm& sample) {
  if (!sample.integers || !sample.has_scale) return "";
  return "give dataset.scale, which makes floats of whole numbers: 0.00392156862745098 for pixels from 0 to 255, else "
         "1";
}

std::string joined(const std::string& first, const std::string& second) {
  return first + (first.empty() || second.empty() ? "" : "; ") + second;
}

std::string flattened(const SampleForm& sample, std::int64_t outputs) {
  return "model = { name = \"sequential\", layers = [{ type = \"Flatten\" }, { type = \"Linear\", in_features = " +
         std::to_string(sample.numbers()) + ", out_features = " + std::to_string(outputs) + " }] }";
}

// The size that a layer has, and the one that it was given.
struct WrongSize {
  std::string type;
  std::string key;
  std::int64_t has = 0;
  std::int64_t given = 0;
};

// Reads the sizes from LibTorch's reason: "(2x1800 and 1700x3)", "to have 3 channels, but got 8 channels".
std::optional<WrongSize> wrong_size(const std::string& why) {
  long long has = 0;
  long long given = 0;
  const std::size_t product = why.find("cannot be multiplied (");
  if (product != std::string::npos &&
      std::sscanf(why.c_str() + product, "cannot be multiplied (%*dx%lld and %lldx", &given, &has) == 2) {
    return WrongSize{.type = "Linear", .key = "in_features", .has = has, .given = given};
  }
  const std::size_t channels = why.find("to have ");
  if (channels != std::string::npos &&
      std::sscanf(why.c_str() + channels, "to have %lld channels, but got %lld channels", &has, &given) == 2) {
    return WrongSize{.type = "Conv2d", .key = "in_channels", .has = has, .given = given};
  }
  return {};
}

// The layer that refused its input, and the shape of this input.
struct FailedLayer {
  std::size_t number = 0;  // among the layers, from 0
  std::vector<std::int64_t> shape = {};
};

// Reads the layer from the reason of models::Chain: "layer 4, Linear, does not accept shape [2, 8, 5, 5]: …".
std::optional<FailedLayer> failed_layer(const Value& layers, const std::string& why) {
  FailedLayer failed;
  if (std::sscanf(why.c_str(), "layer %zu,", &failed.number) != 1) return {};
  if (!layers.is_array() || failed.number >= layers.size()) return {};
  constexpr std::string_view kBegin = "does not accept shape [";
  const std::size_t begin = why.find(kBegin);
  if (begin == std::string::npos) return failed;
  const char* next = why.c_str() + begin + kBegin.size();
  for (char* end = nullptr;; next = end + 1) {
    const long long extent = std::strtoll(next, &end, 10);
    if (end == next) break;
    failed.shape.push_back(extent);
    if (*end != ',') break;
  }
  return failed;
}

// Returns the wrong size of the layer that failed; nothing if the reason is another one.
std::optional<WrongSize> wrong_size_of(const Value& layer, const std::string& why) {
  const auto wrong = wrong_size(why);
  const bool is_there =
      wrong && layer.value("type", "") == wrong->type && layer.value(wrong->key, Value()) == wrong->has;
  return is_there ? wrong : std::nullopt;
}

// Returns the remedy for a layer of a wrong size. Images reach a Linear if no Flatten stands before it.
std::string remedy_for_size(const FailedLayer& failed, const WrongSize& wrong) {
  const std::string layer = "layers[" + std::to_string(failed.number) + "]";
  const bool has_images = failed.shape.size() == 4;
  if (wrong.type != "Linear" || !has_images) {
    return "give " + layer + " " + wrong.key + " = " + std::to_string(wrong.given);
  }
  const std::int64_t numbers = SampleForm{.shape = {failed.shape.begin() + 1, failed.shape.end()}}.numbers();
  const std::string flatten = "put { type = \"Flatten\" } before " + layer;
  return numbers == wrong.has ? flatten : flatten + ", and give it " + wrong.key + " = " + std::to_string(numbers);
}

}  // namespace

std::string SampleForm::kind() const {
  if (shape.size() == 1) return integers ? kTokens : kRows;
  return shape.size() == 3 && !integers ? kImages : "";
}

std::int64_t SampleForm::numbers() const {
  std::int64_t count = 1;
  for (const std::int64_t extent : shape) count *= extent;
  return count;
}

bool has_scale(const Components& components, const std::string& dataset) {
  const Spec* const spec = components.find("dataset", dataset);
  return spec != nullptr && std::any_of(spec->options.begin(), spec->options.end(),
                                        [](const Option& option) { return option.name == "scale"; });
}

Value to_json(const SampleForm& form) { return {{"shape", form.shape}, {"integers", form.integers}}; }

SampleForm sample_form_of(const Value& facts) {
  const auto form = facts.find(kSampleFact);
  if (form == facts.end()) return {};
  return {.shape = form->at("shape").get<std::vector<std::int64_t>>(), .integers = form->at("integers").get<bool>()};
}

std::string misfit(const Spec& model, const std::string& dataset, const SampleForm& sample) {
  const std::string taken = model.traits.value("inputs", "");
  if (taken.empty() || sample.shape.empty()) return "";
  const bool has_channels = taken != kImages || sample.shape.front() == 3;
  if (sample.kind() == taken && has_channels) return "";
  return "the model \"" + model.name + "\" takes " + form_of(taken) + ", and the dataset \"" + dataset + "\" gives " +
         (sample.integers ? "whole numbers" : "samples") + " of the shape " + in_words(sample.shape);
}

std::string fitting_models(const SampleForm& sample, std::int64_t outputs) {
  const std::string kind = sample.kind();
  if (kind == kRows) return "for rows of numbers: model = { name = \"mlp\", hidden = [64, 64] }";
  if (kind == kTokens) {
    return joined(to_floats(sample), "for tokens: model = { name = \"gpt\", n_layer = 2, n_head = 2, n_embd = 64 }");
  }
  const std::string moved = moved_channels(sample);
  if (sample.integers) return joined(to_floats(sample), moved);
  if (kind == kImages && sample.shape.front() == 3) {
    return "for images: model = \"resnet18\", another resnet or vit; or a sequential that begins with Flatten: " +
           flattened(sample, outputs);
  }
  const std::string channels = kind == kImages ? " (resnets and vit take three channels)" : "";
  return moved + (moved.empty() ? "" : ", or ") + "use a sequential that begins with Flatten" + channels + ": " +
         flattened(sample, outputs);
}

std::string place_of_layer(const Value& layers, const std::string& why) {
  const auto failed = failed_layer(layers, why);
  if (!failed) return "model";
  const auto wrong = wrong_size_of(layers[failed->number], why);
  return "model.layers[" + std::to_string(failed->number) + "]." + (wrong ? wrong->key : "type");
}

std::string remedy_for_layers(const Value& layers, const SampleForm& sample, const std::string& why) {
  if (sample.shape.empty() || !layers.is_array() || layers.empty()) return "";
  const std::string first = layers.front().value("type", "");
  if (sample.integers) return first == "Embedding" ? "" : joined(to_floats(sample), moved_channels(sample));
  const std::string numbers = std::to_string(sample.numbers());
  const auto failed = failed_layer(layers, why);
  const auto wrong = failed ? wrong_size_of(layers[failed->number], why) : std::nullopt;
  if (wrong && failed->number > (first == "Flatten" ? 1U : 0U)) return remedy_for_size(*failed, *wrong);
  if (first == "Linear" && sample.shape.size() == 1) return "give the first Linear in_features = " + numbers;
  if (first == "Linear") {
    return "begin the layers with { type = \"Flatten\" }, and give the first Linear in_features = " + numbers;
  }
  if (first == "Flatten") return "give the Linear that follows Flatten in_features = " + numbers;
  if (first != "Conv2d") return "";
  const bool fits = layers.front().value("in_channels", Value()) == sample.shape.front();
  if (sample.kind() == kImages && fits) return "";
  if (const std::string moved = moved_channels(sample); !moved.empty()) return moved;
  if (sample.kind() == kImages) return "give the first Conv2d in_channels = " + std::to_string(sample.shape.front());
  return "Conv2d takes images, of the shape [channels, height, width]; " + fitting_models(sample, /*outputs=*/1);
}

}  // namespace ddp::config
