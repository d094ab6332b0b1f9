#pragma once

#include <optional>
#include <string>
#include <vector>

#include "config/check/problems.h"
#include "config/components.h"
#include "config/option/option.h"
#include "config/text/node.h"

namespace ddp::config {

// Checks a tree against the options that describe it and collects every mistake. All that it knows of keys,
// types and ranges stands in those lists.
class Checker {
 public:
  Checker(const std::vector<Option>& options, const Components& components, Problems& problems)
      : options_(options), components_(components), problems_(problems) {}

  // The values of an experiment's tree, in the order of the options: integers where a number is meant made
  // floating, file names absolute, the options of components complete. What is wrong is left out.
  Value check(const Node& root) const;
  // Those of the section [path], whose keys depend on which component of `kind` it names: `name`.
  Value check_section(const Node& node, const std::string& path, const std::string& kind,
                      const std::string& name) const;

 private:
  // The table under `path`, whose keys are `options`; `known_as` says whose keys they are.
  struct Owner {
    std::string path;
    std::string known_as;
    std::string kind = {};  // of a component
    bool is_item = false;   // one of a list of tables
  };

  Value table(const Node& node, const std::vector<Option>& options, const Owner& owner) const;
  void unknown_key(const std::string& key, const Node& value, const std::vector<Option>& options,
                   const Owner& owner) const;
  void missing(const Node& node, const Option& option, const std::string& path) const;

  std::optional<Value> value(const Node& node, const Option& option, const std::string& path) const;
  std::optional<Value> component(const Node& node, const Option& option, const std::string& path) const;
  std::optional<Value> item_table(const Node& node, const Option& option, const std::string& path) const;
  std::optional<Value> variant(const Node& node, const Option& option, const std::string& path) const;
  std::optional<Value> scalar(const Node& node, const Option& option, const std::string& path) const;
  std::optional<Value> list(const Node& node, const Option& option, const std::string& path) const;
  std::optional<Value> plain(const Node& node, const std::string& path) const;
  std::nullopt_t misfit(const Node& node, const Option& option, const std::string& path) const;

  const std::vector<Option>& options_;
  const Components& components_;
  Problems& problems_;
};

// Where a key stands that is known by its last part: "optimizer.lr" for "lr". Empty: nowhere.
std::string place_of_key(const std::string& key, const std::vector<Option>& options, const Components& components);

// A file's name as the program can open it from anywhere: relative to the file that names it. An empty one stays: none.
std::string absolute_path(const Node& node, const std::string& name);

// The same of an option that may also name a run: a text that names no file, checkpoint or run there, and no
// .safetensors file, stays as it is. `node` is a text.
std::string path_or_run(const Node& node, const Option& option);

}  // namespace ddp::config
