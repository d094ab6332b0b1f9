#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "config/text/source.h"
#include "config/value.h"

namespace ddp::config {

// The types of values in a file; `date` stands for TOML's dates and times, which no key takes.
enum class Kind { boolean, integer, number, text, date, list, table };

// A value of a file with the place where it was written. (A copied toml::table loses its places.)
struct Node {
  Kind kind = Kind::table;
  Value scalar = {};                         // of a boolean, integer, number or text
  std::vector<Node> items = {};              // of a list
  std::map<std::string, Node> entries = {};  // of a table
  SourceRange key = {};                      // the key of the value; for a list's item, the item
  SourceRange place = {};                    // the value
  bool varies = false;                       // one of the values that a sweep gives to its key
  bool whole = false;                        // of a section: a short form, which replaces the inherited section

  bool is_table() const { return kind == Kind::table; }
  // Returns the entry `name`; null if this is not a table or lacks the entry.
  const Node* find(const std::string& name) const;
  // The entry "a.b.c".
  const Node* at_path(std::string_view path) const;
  // Returns the text of a text value; nothing for other kinds.
  std::optional<std::string> text() const;
};

// The entries of a table in the order of the file.
std::vector<const std::pair<const std::string, Node>*> in_file_order(const Node& table);

// Returns a number, a boolean or a date of the command line as the text that was typed; any other value unchanged.
Node as_typed(Node value);

// The value of a node, without places.
Value to_value(const Node& node);

// Returns a value, or a list of values, as TOML on one line: `[0.1, "x"]`.
std::string in_toml(const Node& node);

// Returns the setting of a key with this value in the form of its source, a file or --set; for an item of a list, and
// for one of the values that a sweep gives to the key, the value alone.
std::string as_setting(const std::string& path, const Node& value);

// Describes a value in an error: `the text "x"`, `3`, `a list`.
std::string shown(const Node& node);

}  // namespace ddp::config
