#pragma once

#include "config/components.h"
#include "config/option/parameter.h"
#include "config/text/node.h"

namespace ddp::config {

// Makes the paths in texts that name files absolute: sweep.toml lies in another folder than the sweep's file. An option
// of a component is looked up in the components that `base` names or `parameters` vary: only some datasets have files
// as `inputs`. `node`: the whole file, or the table [sweep.parameters].
void make_paths_absolute(Node& node, const Node& base, const std::vector<Parameter>& parameters,
                         const Components& components);

}  // namespace ddp::config
