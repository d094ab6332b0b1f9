#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "config/option/fields.h"
#include "config/text/source.h"
#include "config/text/toml.h"

namespace ddp::config {

// Composes an experiment's settings before they are checked: the file over the files that it extends, and the --set
// assignments over both, with short forms expanded. `options` tells which sections name components. Returns nothing if
// a file could not be read; `mistakes` has the reason.
// "~KEY" takes a key of the file away, before the assignments.
std::optional<Node> compose(const std::filesystem::path& file, const std::vector<std::string>& sets,
                            const std::vector<Option>& options, Mistakes& mistakes);

// Lays `assigned`, each with the settings of one key, over `root`. They are combined first, as the keys of one file:
// their order does not matter, except that a later value of the same key counts. Two that exclude each other stay, and
// the check reports them.
void assign(Node& root, std::vector<Node> assigned, const std::vector<Option>& options, Mistakes& mistakes);

// Returns the assignment of `text` to the key that the command-line option `name` sets. Its errors name the option.
std::string assignment_of_option(const std::string& name, const std::string& key, const std::string& text);

}  // namespace ddp::config
