#pragma once

#include "config/check/problems.h"
#include "config/components.h"
#include "config/experiment.h"
#include "config/text/node.h"

namespace ddp::config {

// Checks [scheduler] and [stop] together with the other sections.
void check_scheduler(const Node& root, const Experiment& experiment, const Components& components, Problems& problems);

// Reports settings that count epochs although the dataset has none, because of `why`.
void check_endless_rules(const Node& root, const Experiment& experiment, const std::string& why, Problems& problems);

}  // namespace ddp::config
