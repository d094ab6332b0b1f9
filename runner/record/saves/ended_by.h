#pragma once

#include <string>

#include "config/experiment.h"
#include "config/value.h"

namespace ddp::record {

// The rules of [stop] that end a run before its last step, as state.json and summary.json name them.
inline constexpr const char* kPatience = "patience";
inline constexpr const char* kMaxTime = "max_time";

// Has a run that the rule `ended_by` ended still ended by this experiment file, whose [stop] may have other values than
// it had? `stop`: the numbers of the rule "stop" at that end. `seconds`: its training time. After all of its steps
// (kAllSteps) patience may have ended it too: then more steps do not let it go on.
bool still_ended(const config::Experiment& experiment, const std::string& ended_by, const config::Value& stop,
                 double seconds);

}  // namespace ddp::record
