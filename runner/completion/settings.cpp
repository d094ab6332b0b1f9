#include "completion/settings.h"

#include <algorithm>
#include <optional>
#include <vector>

#include "config/compose/forms.h"
#include "config/sweep.h"

namespace ddp::completion {
namespace {

using config::Option;

// The keys of an experiment file, including the options of the chosen components.
class Keys {
 public:
  Keys(const config::Components& components, const config::Experiment& chosen, bool of_sweep)
      : components_(components), top_(config::describe<config::Experiment>()) {
    chosen_ = config::write(chosen);
    config::supply_names(top_, components);
    if (of_sweep) {
      top_.push_back(
          {.name = "sweep", .doc = "the search over settings", .section = config::sweep_options(components)});
    }
    for (const config::ShortForm& form : config::kShortForms) {
      const Option* section = find(top_, form.section);
      if (section == nullptr) continue;
      if (const Option* key = find(section->section, form.key)) top_.push_back(*key);
    }
  }

  const std::vector<Option>& top() const { return top_; }

  // Returns the keys of a section or component; none if the name is neither.
  std::vector<Option> inside(const std::string& name) const {
    const Option* option = find(top_, name);
    if (option == nullptr) return {};
    return option->component_kind.empty() ? option->section : of_component(*option);
  }

  std::optional<Option> at(const std::string& path) const {
    const std::size_t dot = path.find('.');
    const std::vector<Option> keys = dot == std::string::npos ? top_ : inside(path.substr(0, dot));
    const Option* found = find(keys, path.substr(dot + 1));  // npos + 1 is 0
    return found == nullptr ? std::nullopt : std::optional(*found);
  }

 private:
  static const Option* find(const std::vector<Option>& options, const std::string& name) {
    const auto found =
        std::find_if(options.begin(), options.end(), [&](const Option& option) { return option.name == name; });
    return found == options.end() ? nullptr : &*found;
  }

  // Returns the options of the chosen component, or of all components of the kind if none is chosen yet.
  std::vector<Option> of_component(const Option& section) const {
    std::vector<Option> keys = {{.name = "name", .doc = section.doc, .component_kind = section.component_kind}};
    const config::Value chosen = chosen_.value(section.name, config::Value::object());
    const config::Spec* one = components_.find(section.component_kind, chosen.value("name", ""));
    for (const auto& [name, spec] : components_.of(section.component_kind)) {
      if (one != nullptr && &spec != one) continue;
      for (const Option& option : spec.options) {
        if (find(keys, option.name) == nullptr) keys.push_back(option);
      }
    }
    return keys;
  }

  const config::Components& components_;
  std::vector<Option> top_;
  config::Value chosen_;
};

std::string about(const Option& option) {
  if (option.default_value.is_null() || option.default_value == "") return option.doc;
  return option.doc + " (" + option.default_value.dump() + ")";
}

void add(Candidates& found, const std::string& typed, std::string text, const std::string& words) {
  if (text.starts_with(typed)) found.push_back({std::move(text), words});
}

Candidates values(const std::string& typed, const std::string& key, const Option& option,
                  const config::Components& components) {
  Candidates found;
  if (!option.component_kind.empty()) {
    for (const auto& [name, spec] : components.of(option.component_kind)) add(found, typed, key + name, spec.doc);
  }
  for (const std::string& choice : option.choices) add(found, typed, key + choice, "");
  if (std::find(option.types.begin(), option.types.end(), config::Type::boolean) != option.types.end()) {
    for (const char* value : {"true", "false"}) add(found, typed, key + value, "");
  }
  return found;
}

}  // namespace

Candidates settings(const std::string& typed, const config::Components& components, const config::Experiment& chosen,
                    bool of_sweep) {
  const Keys keys(components, chosen, of_sweep);
  Candidates found;
  if (const std::size_t equals = typed.find('='); equals != std::string::npos) {
    const auto option = keys.at(typed.substr(0, equals));
    return option ? values(typed, typed.substr(0, equals + 1), *option, components) : found;
  }
  if (const std::size_t dot = typed.find('.'); dot != std::string::npos) {
    for (const Option& option : keys.inside(typed.substr(0, dot))) {
      add(found, typed, typed.substr(0, dot + 1) + option.name + "=", about(option));
    }
    return found;
  }
  for (const Option& option : keys.top()) {
    const bool takes_text = std::any_of(config::kTextForms.begin(), config::kTextForms.end(),
                                        [&](const config::ShortForm& form) { return option.name == form.section; });
    if (option.section.empty() || takes_text) add(found, typed, option.name + "=", about(option));
    if (!option.section.empty() || !option.component_kind.empty()) add(found, typed, option.name + ".", option.doc);
  }
  return found;
}

}  // namespace ddp::completion
