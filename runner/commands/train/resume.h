#pragma once

#include "commands/train/resumption.h"
#include "launch/cluster/nodes.h"

namespace ddp::commands {

// Goes on as node 0, or the only one. Returns the program's exit code. Throws ddp::Error (usage) where it cannot.
int resume_run(const Resumption& resumption, const launch::Launch& launch, launch::Nodes& nodes);

// This run has done all of its steps: says so, and sees to it that its summary does.
void tell_nothing_to_do(const ResumePoint& point, const record::RunDirectory& directory);

}  // namespace ddp::commands
