#include "config/text/node.h"

#include "base/own_command.h"

#include <algorithm>
#include <cmath>

namespace ddp::config {

const Node* Node::find(const std::string& name) const {
  const auto it = entries.find(name);
  return it == entries.end() ? nullptr : &it->second;
}

const Node* Node::at_path(std::string_view path) const {
  const Node* node = this;
  while (node) {
    const std::size_t dot = path.find('.');
    node = node->find(std::string(path.substr(0, dot)));
    if (dot == std::string_view::npos) break;
    path.remove_prefix(dot + 1);
  }
  return node;
}

std::optional<std::string> Node::text() const {
  if (kind != Kind::text) return std::nullopt;
  return scalar.get<std::string>();
}

std::vector<const std::pair<const std::string, Node>*> in_file_order(const Node& table) {
  std::vector<const std::pair<const std::string, Node>*> entries;
  for (const auto& entry : table.entries) entries.push_back(&entry);
  std::stable_sort(entries.begin(), entries.end(),
                   [](const auto* a, const auto* b) { return before(a->second.key, b->second.key); });
  return entries;
}

Node as_typed(Node value) {
  const bool is_other = value.kind == Kind::text || value.kind == Kind::list || value.is_table();
  if (is_other || !value.place.source || value.place.source->is_file()) return value;
  value.kind = Kind::text;
  value.scalar = std::string(text_at(value.place));
  return value;
}

Value to_value(const Node& node) {
  if (node.kind == Kind::list) {
    Value list = Value::array();
    for (const Node& item : node.items) list.push_back(to_value(item));
    return list;
  }
  if (!node.is_table()) return node.scalar;
  Value table = Value::object();
  for (const auto* entry : in_file_order(node)) table[entry->first] = to_value(entry->second);
  return table;
}

std::string in_toml(const Node& node) {
  if (node.kind != Kind::list) return to_value(node).dump(-1, ' ', false, Value::error_handler_t::replace);
  std::string items;
  for (const Node& item : node.items) items += (items.empty() ? "" : ", ") + in_toml(item);
  return "[" + items + "]";
}

std::string as_setting(const std::string& path, const Node& value) {
  if (path.ends_with(']') || value.varies) return in_toml(value);
  // --set takes no key of a list's item: the list is given as a whole.
  const bool in_item = path.find('[') != std::string::npos;
  if (is_of_command_line(value.place) && !in_item) return "--set " + shell_word(path + "=" + in_toml(value));
  return path.substr(path.rfind('.') + 1) + " = " + in_toml(value);
}

std::string shown(const Node& node) {
  switch (node.kind) {
    case Kind::boolean:
    case Kind::integer:
      return node.scalar.dump();
    case Kind::number: {
      const double number = node.scalar.get<double>();
      if (std::isnan(number)) return "nan";
      if (std::isinf(number)) return number > 0 ? "inf" : "-inf";
      return node.scalar.dump();
    }
    case Kind::text:
      return "the text " + in_quotes(node.scalar.get<std::string>());
    case Kind::date:
      return "a date or time";
    case Kind::list:
      return "a list";
    case Kind::table:
      return "a table";
  }
  return "";
}

}  // namespace ddp::config
