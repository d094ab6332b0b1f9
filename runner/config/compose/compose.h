#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "config/check/problems.h"
#include "config/option/option.h"
#include "config/text/node.h"

namespace ddp::config {

// An experiment's settings before they are checked: the file laid over what it extends, the --set
// assignments over both, every short form written out. `options` tells which sections name components.
// Nothing where a file could not be read; `problems` says why.
std::optional<Node> compose(const std::filesystem::path& file, const std::vector<std::string>& sets,
                            const std::vector<Option>& options, Problems& problems);

// Lays `assigned`, settings of keys each, over `root`: all of them together, so that their order does not matter.
void assign(Node& root, std::vector<Node> assigned, const std::vector<Option>& options, Problems& problems);

// The file at the front, then what it extends, and so on up. Nothing where one could not be read.
std::optional<std::vector<Node>> read_layers(const std::filesystem::path& file, Problems& problems);

// The assignment of a text that the option `name` of the command line stands for. Errors then name the option.
std::string assignment_of_option(const std::string& name, const std::string& key, const std::string& text);

// "optimizer.lr=0.1": the value as in TOML, a bare word is a text. Nothing, and a problem, if it is neither.
std::optional<Node> parse_assignment(int number, const std::string& text, Problems& problems);

}  // namespace ddp::config
