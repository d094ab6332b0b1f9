#pragma once

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "config/option/value.h"
#include "config/text/source.h"

namespace ddp::config {

// A value of a file with the place where it was written. (A copied toml::table loses its places.)
struct Node {
  Type kind = Type::table;
  Value scalar = {};                         // of a boolean, integer, number or text
  std::vector<Node> items = {};              // of a list
  std::map<std::string, Node> entries = {};  // of a table
  SourceRange key = {};                      // the key of the value; for a list's item, the item
  SourceRange place = {};                    // the value
  bool varies = false;                       // one of the values that a sweep gives to its key
  bool whole = false;                        // of a section: a short form, which replaces the inherited section

  bool is_table() const { return kind == Type::table; }
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

// Describes a value in an error: `the text "x"`, `3`, `a list`.
std::string shown(const Node& node);

// Parses TOML `text` as a table, with places in `source`. Returns nothing, and adds a mistake with its place, if the
// text is not TOML.
std::optional<Node> parse_toml(const std::shared_ptr<const Source>& source, std::string_view text, Mistakes& mistakes);

// Writes a table as TOML: its tables become sections, with one key per line.
std::string to_toml(const Value& table);
// The same for the value of a key: "{ name = "adam" }".
std::string to_toml_value(const Value& value);

}  // namespace ddp::config
