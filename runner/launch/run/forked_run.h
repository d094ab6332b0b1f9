#pragma once

#include <vector>

#include "launch/cluster/meeting_point.h"
#include "launch/run/training.h"

namespace ddp::launch {

// A run whose ranks this process forks, as node 0.
struct ForkedRun {
  const Training& training;
  const Launch& launch;
  Nodes& nodes;
  MeetingPoint meeting;  // of the next ranks
  OpenRun run;           // replaced by a new start after a restart
  std::vector<FileDescriptor> device_locks;
};

// Trains as node 0.
int train_forked(Training& training, const Launch& launch, Nodes& nodes);

}  // namespace ddp::launch
