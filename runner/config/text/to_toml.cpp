#include "config/text/to_toml.h"

#include "config/load.h"

namespace ddp::config {
namespace {

// A text in TOML's quotes. JSON's escapes match TOML's, except for DEL.
std::string text(const std::string& plain) {
  const std::string json = Value(plain).dump(-1, ' ', false, Value::error_handler_t::replace);
  std::string escaped;
  for (char c : json) escaped += c == '\x7F' ? "\\u007F" : std::string(1, c);
  return escaped;
}

std::string key(const std::string& name) { return is_bare_key(name) ? name : text(name); }

std::string value(const Value& from);

std::string table(const Value& from) {
  std::string entries;
  for (const auto& [name, entry] : from.items()) {
    entries += (entries.empty() ? " " : ", ") + key(name) + " = " + value(entry);
  }
  return entries.empty() ? "{}" : "{" + entries + " }";
}

// Tables in a list get their own lines.
std::string list(const Value& from) {
  const bool of_tables = !from.empty() && from.front().is_object();
  std::string items;
  for (const Value& item : from) {
    if (of_tables) {
      items += "\n  " + value(item) + ",";
    } else {
      items += (items.empty() ? "" : ", ") + value(item);
    }
  }
  return "[" + items + (of_tables ? "\n]" : "]");
}

// Numbers as nlohmann prints them: the shortest digits that read back to the same value.
std::string value(const Value& from) {
  if (from.is_string()) return text(from.get<std::string>());
  if (from.is_array()) return list(from);
  if (from.is_object()) return table(from);
  return from.dump();
}

}  // namespace

bool is_bare_key(std::string_view name) {
  constexpr std::string_view kCharacters = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-";
  return !name.empty() && name.find_first_not_of(kCharacters) == std::string_view::npos;
}

std::string inline_toml(const Value& written) { return table(written); }

std::string to_toml(const Experiment& experiment) { return to_toml(write(experiment)); }

std::string to_toml(const Value& written) {
  std::string top;
  std::string sections;
  for (const auto& [name, entry] : written.items()) {
    if (!entry.is_object()) {
      top += key(name) + " = " + value(entry) + "\n";
    } else if (entry.size() == 1 && entry.contains("name")) {
      top += key(name) + " = " + value(entry["name"]) + "\n";
    } else {
      sections += "\n[" + key(name) + "]\n";
      for (const auto& [inner, of_inner] : entry.items()) sections += key(inner) + " = " + value(of_inner) + "\n";
    }
  }
  return top + sections;
}

}  // namespace ddp::config
