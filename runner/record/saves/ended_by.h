#pragma once

#include <string>

#include "config/experiment.h"
#include "config/value.h"

namespace ddp::record {

// The rules of [stop] that end a run before its last step, as state.json and summary.json name them.
inline constexpr const char* kPatience = "patience";
inline constexpr const char* kMaxTime = "max_time";

// Does a run that the rule `ended_by` ended stay ended under this experiment file? Its [stop] may have new values.
// `stop`: the numbers of the rule "stop" at the end of the run. `seconds`: its training time. Patience may also have
// been exhausted when the run ended after all steps (kAllSteps): then more steps do not let it continue.
bool still_ended(const config::Experiment& experiment, const std::string& ended_by, const config::Value& stop,
                 double seconds);

// Returns a value of stop.<ended_by> with which the run goes on: twice its value, or more if the run did more.
std::string longer_rule(const config::Experiment& experiment, const std::string& ended_by, const config::Value& stop,
                        double seconds);

}  // namespace ddp::record
