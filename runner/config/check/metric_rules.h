#pragma once

#include <optional>
#include <string>

#include "config/check/problems.h"
#include "config/components.h"
#include "config/text/node.h"

namespace ddp::config {

// Does the file give data for validation?
bool has_validation(const Node& root);

// The reason why a metric is not measured, and the remedy.
struct Unmeasured {
  std::string what;
  std::string remedy;
};

// `name` is the metric's name in events. val_NAME needs held-out samples, and NAME in `metrics`. Returns nothing if the
// metric is measured, and for an unknown metric or a matrix, which another check reports.
std::optional<Unmeasured> unmeasured(const std::string& name, const Node& root, const Components& components);

// Checks that the experiment measures the metric that `metric` names.
void check_measured(const Node& metric, const Node& root, const Components& components, Problems& problems);

// Checks that the listed metrics can be measured, and that the metrics of checkpoint and stop are measured.
void check_metrics(const Node& root, const Components& components, Problems& problems);

}  // namespace ddp::config
