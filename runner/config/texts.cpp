#include "config/texts.h"

#include <functional>
#include <string>
#include <utility>
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

ComponentNames named_components(const Node& base, const std::vector<Parameter>& parameters) {
  NamedComponents named;
  named.add(base, "");
  for (const Parameter& parameter : parameters) named.add(parameter);
  return named.names();
}

// Calls `treat` with each value below the key that is neither list nor table, and with the option that takes it, if
// any.
using Treat = std::function<void(Node& value, const Option& option)>;

class Values {
 public:
  Values(ComponentNames names, const Components& components, Treat treat)
      : names_(std::move(names)), components_(components), treat_(std::move(treat)) {}

  void visit(Node& node, const std::string& key) const {
    for (auto& [name, entry] : node.entries) visit(entry, within(key, name));
    for (Node& item : node.items) visit(item, key);
    if (node.is_table() || node.kind == Kind::list || key.empty()) return;
    if (const Option* option = find_option(key, options_, components_, names_)) treat_(node, *option);
  }

 private:
  const std::vector<Option> options_ = describe<Experiment>();
  const ComponentNames names_;
  const Components& components_;
  const Treat treat_;
};

bool takes_only_texts(const Option& option) {
  const bool takes_others = takes_type(option, Type::boolean) || takes_type(option, Type::integer) ||
                            takes_type(option, Type::number) || !option.component_kind.empty();
  const bool takes_texts = takes_type(option, Type::text) || option.item == Type::text;
  // Neither a choice nor a form looks like a number.
  return takes_texts && !takes_others && option.choices.empty() && option.form.empty();
}

}  // namespace

void keep_texts_as_typed(Node& node, const std::string& key, const Node& base, const std::vector<Parameter>& parameters,
                         const Components& components) {
  Values(named_components(base, parameters), components, [](Node& value, const Option& option) {
    if (takes_only_texts(option)) value = as_typed(std::move(value));
  }).visit(node, key);
}

void make_paths_absolute(Node& node, const Node& base, const std::vector<Parameter>& parameters,
                         const Components& components) {
  Values(named_components(base, parameters), components, [](Node& value, const Option& option) {
    if (value.text() && names_file(option, *value.text())) value.scalar = path_or_run(value, option);
  }).visit(node, "");
}

}  // namespace ddp::config
