#pragma once

#include "config/components.h"
#include "config/option/parameter.h"
#include "config/text/node.h"

// The texts of settings. An option of a component is looked up in the components that `base` names or `parameters`
// vary: only some datasets have files as `inputs`.
namespace ddp::config {

// TOML takes a value of the command line such as 1e5, 1.50, true or 2026-01-01 for no text. Makes it the text that was
// typed if its option takes only texts. `node`: the value of `key`; with the key "", the whole file.
void keep_texts_as_typed(Node& node, const std::string& key, const Node& base, const std::vector<Parameter>& parameters,
                         const Components& components);

// Makes the paths in texts that name files absolute: sweep.toml lies in another folder than the sweep's file. `node`:
// the whole file, or the table [sweep.parameters].
void make_paths_absolute(Node& node, const Node& base, const std::vector<Parameter>& parameters,
                         const Components& components);

}  // namespace ddp::config
