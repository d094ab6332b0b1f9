#include "config/sweep_paths.h"

#include <algorithm>
#include <string>
#include <vector>

#include "config/check/check.h"
#include "config/experiment.h"

namespace ddp::config {
namespace {

std::string within(const std::string& section, const std::string& name) {
  return section.empty() ? name : section + "." + name;
}

// Collects the components that each section names: {"dataset": {"npz"}}.
class NamedComponents {
 public:
  void add(const Node& node, const std::string& section) {
    if (const auto text = node.text()) names_[section].insert(*text);
    for (const auto& [key, entry] : node.entries) {
      const bool is_name = key == "name" && entry.text() && !section.empty();
      is_name ? add(entry, section) : add(entry, within(section, key));
    }
  }
  void add(const Parameter& parameter) {
    const std::string suffix = ".name";
    const bool is_name = parameter.key.ends_with(suffix);
    for (const Node& value : parameter.choices) {
      add(value, is_name ? parameter.key.substr(0, parameter.key.size() - suffix.size()) : parameter.key);
    }
  }
  const ComponentNames& names() const { return names_; }

 private:
  ComponentNames names_;
};

class AbsolutePaths {
 public:
  AbsolutePaths(const ComponentNames& names, const Components& components) : names_(names), components_(components) {}

  void make(Node& node, const std::string& key) const {
    for (auto& [name, entry] : node.entries) make(entry, within(key, name));
    for (Node& item : node.items) make(item, key);
    if (!node.text() || key.empty()) return;
    const Option* option = find_option(key, options_, components_, names_);
    if (option && names_file(*option, *node.text())) node.scalar = path_or_run(node, *option);
  }

 private:
  const std::vector<Option> options_ = describe<Experiment>();
  const ComponentNames& names_;
  const Components& components_;
};

}  // namespace

void make_paths_absolute(Node& node, const Node& base, const std::vector<Parameter>& parameters,
                         const Components& components) {
  NamedComponents named;
  named.add(base, "");
  for (const Parameter& parameter : parameters) named.add(parameter);
  AbsolutePaths(named.names(), components).make(node, "");
}

}  // namespace ddp::config
