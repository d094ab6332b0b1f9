#pragma once

#include <string>

#include "workspace.h"

namespace ddp::system_test {

// Two runs of the same length: one that was killed inside an epoch and resumed, and one that was not interrupted.
struct KilledAndWhole {
  RunFolder killed;
  RunFolder whole;
};

// Kills a run of NAME.toml with these --set once it has done 30 steps, resumes it to the end of a later epoch, and
// trains another run to the same step: both must have the same steps, model and optimizer.
KilledAndWhole kill_and_resume(const Workspace& workspace, const std::string& name, const Words& sets = {});

}  // namespace ddp::system_test
