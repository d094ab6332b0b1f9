#pragma once

#include <optional>
#include <string>
#include <vector>

#include "config/check/suggest.h"
#include "config/components.h"
#include "config/option/fields.h"
#include "config/text/source.h"
#include "config/text/toml.h"

namespace ddp::config {

// Checks a tree against the options that describe it and collects every mistake. The options hold all knowledge of
// keys, types and ranges.
class Checker {
 public:
  Checker(const std::vector<Option>& options, const Components& components, Mistakes& mistakes)
      : options_(options), components_(components), mistakes_(mistakes) {}

  // Returns the values of an experiment's tree in the order of the options: integers become floats where a number is
  // expected, file names become absolute, and component options get their defaults. Leaves out wrong values. `given`
  // has only the keys that the user gave; `root` has supplied and inherited ones too.
  Value check(const Node& root, const Node& given);
  // Returns the values of the section [path]; its keys depend on the component `name` of kind `kind`.
  Value check_section(const Node& node, const std::string& path, const std::string& kind,
                      const std::string& name) const;

 private:
  // The table at `path` with the keys `options`; `known_as` names it in messages.
  struct Owner {
    std::string path;
    std::string known_as;
    std::string kind = {};     // of a component
    std::string section = {};  // of a table in a list of tables: the name of the list
  };

  Value table(const Node& node, const std::vector<Option>& options, const Owner& owner) const;
  void unknown_key(const std::string& key, const Node& value, const std::vector<Option>& options,
                   const Owner& owner) const;
  std::string remedy_of_key(const std::string& key, const std::vector<Option>& options, const Owner& owner) const;
  void missing(const Node& node, const Option& option, const std::string& path) const;

  std::optional<Value> value(const Node& node, const Option& option, const std::string& path) const;
  std::optional<Value> component(const Node& node, const Option& option, const std::string& path) const;
  std::optional<Value> item_table(const Node& node, const Option& option, const std::string& path) const;
  std::optional<Value> table_of_own(const Node& node, const Node& own, const Option& option,
                                    const std::string& path) const;
  std::optional<Value> variant(const Node& node, const Option& option, const std::string& path) const;
  std::optional<Value> scalar(const Node& node, const Option& option, const std::string& path) const;
  std::optional<Value> list(const Node& node, const Option& option, const std::string& path) const;
  std::optional<Value> plain(const Node& node, const std::string& path) const;
  std::nullopt_t wrong(const Node& node, const Option& option, const std::string& path) const;
  std::optional<Value> url(const Node& node, const Option& option, const std::string& path) const;
  std::string remedy_of_value(const Node& node, const Option& option, const std::string& path) const;

  const std::vector<Option>& options_;
  const Components& components_;
  Mistakes& mistakes_;
  const Node* given_ = nullptr;  // the keys of the whole experiment; null: a section alone is checked
};

// Describes the values of an option: "an integer of at least 1", `one of "ddp", "single"`, "a list of 2 numbers".
std::string expected(const Option& option);

// The forms of `device_pool`, for a value of another one.
inline constexpr const char* kPoolForms =
    "give \"auto\" (every GPU, or two CPU ranks), 4, [0, 1], [\"cpu\", \"cpu\"] or [[0, 1], [2, 3]]";

// Makes a file name absolute; it is relative to the file that names it. An empty name stays empty.
std::string absolute_path(const Node& node, const std::string& name);

// The same for an option that may also name a run: the text stays unchanged if it names no existing file,
// checkpoint or run folder, and no .safetensors file. `node` is a text.
std::string path_or_run(const Node& node, const Option& option);

// Does this text name a file? A path option may also take words, such as "none".
bool names_file(const Option& option, const std::string& text);

}  // namespace ddp::config
