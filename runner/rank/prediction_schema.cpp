#include "rank/prediction_schema.h"

#include <algorithm>
#include <cctype>
#include <filesystem>
#include <utility>

namespace ddp::rank {
namespace {

// Returns the array name of an option: "y" for "y", "y.npy" and "y-*.npy".
std::string target_name(const config::Value& option) {
  const config::Value& first = option.is_array() && !option.empty() ? option.front() : option;
  std::string name = first.is_string() ? first.get<std::string>() : "";
  const std::filesystem::path path(name);
  if (path.extension() != ".npy") return name.empty() ? "target" : name;
  name = path.stem().string();
  if (const auto pattern = name.find_first_of("*?["); pattern != std::string::npos) name.resize(pattern);
  while (!name.empty() && std::ispunct(static_cast<unsigned char>(name.back())) != 0) name.pop_back();
  return name.empty() ? "target" : name;
}

}  // namespace

PredictionSchema schema_of(const Task& t, bool has_paths) {
  const std::string& loss = t.experiment->loss.name;
  if (datasets::is_table(t.preprocessing)) {
    datasets::Encoder e = datasets::encoder_from_json(t.preprocessing);
    const bool scaled = std::any_of(e.target_scales.begin(), e.target_scales.end(), [](const datasets::Scale& scale) {
      return scale.kind != datasets::Scale::Kind::none;
    });
    return {.kind = e.kind,
            .loss = loss,
            .of_table = true,
            .has_paths = false,
            .targets = std::move(e.targets),
            .classes = e.classes.names(),
            .scales = scaled ? std::move(e.target_scales) : std::vector<datasets::Scale>()};
  }
  const config::Value& options = t.experiment->dataset.options;
  return {.kind = datasets::target_kind(loss),
          .loss = loss,
          .of_table = false,
          .has_paths = has_paths,
          .targets = {target_name(options.value("targets", config::Value()))},
          .classes = t.preprocessing.is_object() ? t.preprocessing.value("classes", std::vector<std::string>())
                                                 : std::vector<std::string>(),
          .scales = {}};
}

}  // namespace ddp::rank
