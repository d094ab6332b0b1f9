#include "config/compose/compose.h"

#include "config/compose/forms.h"

namespace ddp::config {
namespace {

// Moves the short form of a key to its long form.
void expand_key(Node& root, const ShortForm& form, Problems& problems) {
  const auto found = root.entries.find(form.key);
  if (found == root.entries.end()) return;
  Node value = std::move(found->second);
  root.entries.erase(found);
  Node& section = root.entries.try_emplace(form.section, Node{.key = value.key, .place = value.key}).first->second;
  if (!section.is_table()) return;  // the check reports this mistake
  if (const Node* twice = section.find(form.key)) {
    const std::string long_form = std::string(form.section) + "." + form.key;
    problems.add(before(value.key, twice->key) ? twice->key : value.key,
                 "\"" + std::string(form.key) + "\" is given twice: it is short for \"" + long_form + "\"",
                 "keep one of them");
    return;
  }
  section.entries.emplace(form.key, std::move(value));
}

// `model = "mlp"` becomes `model = { name = "mlp" }`.
void expand_text(Node& root, const std::string& name, const std::string& key) {
  const auto found = root.entries.find(name);
  if (found == root.entries.end() || found->second.kind != Kind::text) return;
  Node text = std::move(found->second);
  Node section{.key = text.key, .place = text.place, .whole = true};
  section.entries.emplace(key, std::move(text));
  found->second = std::move(section);
}

void expand(Node& root, const std::vector<Option>& options, Problems& problems) {
  for (const ShortForm& form : kShortForms) expand_key(root, form, problems);
  for (const Option& option : options) {
    if (!option.component_kind.empty()) expand_text(root, option.name, "name");
  }
  for (const ShortForm& form : kTextForms) {
    if (const auto given = root.entries.find(form.section); given != root.entries.end()) {
      given->second = as_typed(std::move(given->second));
    }
    expand_text(root, form.section, form.key);
  }
}

void merge(Node& base, Node over) {
  for (auto& [key, value] : over.entries) {
    const auto [entry, is_new] = base.entries.try_emplace(key);
    if (!is_new && entry->second.is_table() && value.is_table()) {
      entry->second.whole = entry->second.whole || value.whole;
      merge(entry->second, std::move(value));
    } else {
      entry->second = std::move(value);
    }
  }
}

// The options of one component do not fit another: a section that names another component does not inherit them. A
// section without a name has the default one.
bool replaces(const Node& base, const Node& over, const std::string& default_name) {
  if (over.whole) return true;
  const Node* name = over.find("name");
  if (!name) return false;
  const Node* base_name = base.find("name");
  if (!base_name && default_name.empty()) return false;
  return name->text() != (base_name ? base_name->text() : default_name);
}

// Erases the alternative that `over` replaces by giving the other one.
void erase_replaced(Node& base, const Node& over, const Alternatives& two) {
  const bool at_top = *two.section == '\0';
  const Node* above = at_top ? &over : over.find(two.section);
  const auto inner = base.entries.find(two.section);
  Node* below = at_top ? &base : inner == base.entries.end() ? nullptr : &inner->second;
  if (!above || !below) return;
  if (above->find(two.first)) below->entries.erase(two.second);
  if (above->find(two.second)) below->entries.erase(two.first);
}

// Lays `over` over `base`, with priority to `over`.
void lay_over(Node& base, Node over, const std::vector<Option>& options) {
  for (const Option& option : options) {
    const Node* below = base.find(option.name);
    const Node* above = over.find(option.name);
    if (option.component_kind.empty() || !below || !above) continue;
    const std::string default_name = option.default_value.is_string() ? option.default_value.get<std::string>() : "";
    if (replaces(*below, *above, default_name)) base.entries.erase(option.name);
  }
  for (const ShortForm& form : kTextForms) {
    const Node* above = over.find(form.section);
    if (above && above->whole) base.entries.erase(form.section);
  }
  for (const Alternatives& two : kAlternatives) erase_replaced(base, over, two);
  erase_replaced(base, over, kWarmups);
  merge(base, std::move(over));
}

// Adds one assignment to others. Their order decides nothing, except that a later value of the same key counts, and
// that another name of a component begins its section anew.
void add_assignment(Node& all, Node one, const std::vector<Option>& options) {
  for (const Option& option : options) {
    const Node* earlier = option.component_kind.empty() ? nullptr : all.find(option.name);
    const Node* later = one.find(option.name);
    if (!earlier || !later) continue;
    const bool is_whole = earlier->whole || later->whole;
    const Node* const names[] = {earlier->find("name"), later->find("name")};
    if (names[0] && names[1] && names[0]->text() != names[1]->text()) all.entries.erase(option.name);
    one.entries.at(option.name).whole = is_whole;
  }
  merge(all, std::move(one));
}

}  // namespace

void assign(Node& root, std::vector<Node> assigned, const std::vector<Option>& options, Problems& problems) {
  Node all;
  for (Node& one : assigned) {
    expand(one, options, problems);
    add_assignment(all, std::move(one), options);
  }
  lay_over(root, std::move(all), options);
}

std::optional<Node> compose(const std::filesystem::path& file, const std::vector<std::string>& sets,
                            const std::vector<Option>& options, Problems& problems) {
  std::optional<std::vector<Node>> layers = read_layers(file, problems);
  std::vector<Node> assigned;
  for (std::size_t i = 0; i < sets.size(); ++i) {
    std::optional<Node> assignment = parse_assignment(static_cast<int>(i) + 1, sets[i], problems);
    if (assignment) assigned.push_back(std::move(*assignment));
  }
  if (!layers) return std::nullopt;

  for (Node& layer : *layers) expand(layer, options, problems);
  Node root = std::move(layers->back());
  for (auto layer = std::next(layers->rbegin()); layer != layers->rend(); ++layer) {
    root.place = layer->place;
    lay_over(root, std::move(*layer), options);
  }
  assign(root, std::move(assigned), options, problems);
  return root;
}

}  // namespace ddp::config
