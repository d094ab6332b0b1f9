#pragma once

#include <optional>
#include <string>

#include "config/check/problems.h"
#include "config/components.h"
#include "config/text/node.h"

namespace ddp::config {

// Does the file give data to validate on?
bool has_validation(const Node& root);

// The reason why a metric is not measured, and what helps.
struct Unmeasured {
  std::string what;
  std::string remedy;
};

// `name`: a metric as events name it. A val_NAME needs held-out samples, and NAME in `metrics`. Nothing: it is
// measured, or there is no such number.
std::optional<Unmeasured> unmeasured(const std::string& name, const Node& root, const Components& components);

// The experiment must measure the metric that `metric` names.
void check_measured(const Node& metric, const Node& root, const Components& components, Problems& problems);

// The metrics in the list can be measured, and so are the metrics that rules follow.
void check_metrics(const Node& root, const Components& components, Problems& problems);

}  // namespace ddp::config
