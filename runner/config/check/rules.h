#pragma once

#include <string>

#include "config/components.h"
#include "config/experiment.h"
#include "config/text/source.h"
#include "config/text/toml.h"

namespace ddp::config {

// Checks the rules among the keys of an experiment, which lists of options cannot express. `root` has the given keys
// and their places, `experiment` the values that passed the check.
void check_rules(const Node& root, const Experiment& experiment, Mistakes& mistakes);

// Checks the shape of `device_pool`: "auto", a count, a list of GPU indices or of "cpu", or groups of equal size.
void check_device_pool(const Node& pool, Mistakes& mistakes);

// Does the file give data for validation?
bool has_validation(const Node& root);

// Checks that the experiment measures a metric, by its name in events: val_NAME needs held-out samples, and NAME in
// `metrics`. Another check reports an unknown metric or a matrix.
// `goal`: of the metric's section; a scalar of the loss needs one, there or in [checkpoint].
void check_measured(const std::string& name, const std::string& goal, const SourceRange& place, const Node& root,
                    const Components& components, Mistakes& mistakes);

// Does a graph compute the loss, which may give other scalars beside it?
bool gives_scalars(const Node& root, const Components& components);

}  // namespace ddp::config
