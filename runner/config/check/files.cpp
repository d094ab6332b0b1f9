#include "config/check/files.h"

#include <filesystem>
#include <utility>

namespace ddp::config {
namespace {

class MissingFiles {
 public:
  explicit MissingFiles(const Loaded& loaded) : loaded_(loaded) {}

  // Checks the options whose values are paths. `section` is "dataset.", or "" for top-level keys.
  void look(const std::vector<Option>& options, const Value& values, const std::string& section) {
    for (const Option& option : options) {
      const auto value = values.find(option.name);
      if (!option.path || value == values.end()) continue;
      for (const Value& name : value->is_array() ? *value : Value::array({*value})) {
        if (name.is_string()) require(section + option.name, name.get<std::string>());
      }
    }
  }
  std::vector<Error> take() { return std::move(errors_); }

 private:
  void require(const std::string& key, const std::string& file) {
    std::error_code unreadable;
    if (file.empty() || std::filesystem::exists(file, unreadable)) return;
    errors_.push_back(loaded_.error(key, "there is no such file: " + printable(file),
                                    "a relative path starts at the folder of the experiment file that gives it"));
  }

  const Loaded& loaded_;
  std::vector<Error> errors_;
};

}  // namespace

std::vector<Error> missing_files(const Loaded& loaded, const Components& components) {
  const Experiment& e = loaded.experiment;
  MissingFiles missing(loaded);
  missing.look(describe<Experiment>(), write(e), "");
  const std::pair<const char*, const Component*> chosen[] = {{"model", &e.model},
                                                             {"dataset", &e.dataset},
                                                             {"loss", &e.loss},
                                                             {"optimizer", &e.optimizer},
                                                             {"scheduler", &e.scheduler}};
  for (const auto& [kind, component] : chosen) {
    if (const Spec* spec = components.find(kind, component->name)) {
      missing.look(spec->options, component->options, std::string(kind) + ".");
    }
  }
  return missing.take();
}

}  // namespace ddp::config
