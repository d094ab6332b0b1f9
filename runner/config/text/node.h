#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "config/text/source.h"
#include "config/value.h"

namespace ddp::config {

// What a file can hold; `date` stands for TOML's dates and times, which no key takes.
enum class Kind { boolean, integer, number, text, date, list, table };

// A value of a file that knows where it was written. (A toml::table that is copied forgets it.)
struct Node {
  Kind kind = Kind::table;
  Value scalar = {};                         // of a boolean, integer, number or text
  std::vector<Node> items = {};              // of a list
  std::map<std::string, Node> entries = {};  // of a table
  Place key = {};                            // the key that holds it; of a list's item, the item
  Place place = {};                          // the value
  bool whole = false;                        // of a section: a short form, which replaces what is inherited

  bool is_table() const { return kind == Kind::table; }
  // The entry `name` of a table, if it is a table that has it.
  const Node* find(const std::string& name) const;
  // The entry "a.b.c".
  const Node* at_path(std::string_view path) const;
  // The text that it is; nothing where it is something else.
  std::optional<std::string> text() const;
};

// The entries of a table in the order of the file.
std::vector<const std::pair<const std::string, Node>*> in_file_order(const Node& table);

// The same without its places.
Value to_value(const Node& node);

// How a value is named in an error: `the text "x"`, `3`, `a list`.
std::string shown(const Node& node);

}  // namespace ddp::config
