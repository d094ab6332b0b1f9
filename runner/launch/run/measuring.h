#pragma once

#include <functional>
#include <string>

#include "launch/cluster/meeting_point.h"
#include "launch/cluster/nodes.h"
#include "launch/library/rank_library.h"
#include "launch/plan/plan.h"
#include "rank/comm.h"

namespace ddp::launch {

// A measurement of the network: its ranks, its request, and a callback for each row.
struct Measuring {
  const Plan& plan;
  const RankLibrary& library;
  const rank::CommRequest& request;
  std::function<void(const rank::CommRow&)> take_row;
};

// The result: the exit code and, for a failure, its text.
struct Measured {
  int exit_code = 0;
  std::string failure = {};
};

// Measures as node 0, or as the only node: forks the ranks and watches them to their end. Wrong values do not fail a
// rank.
Measured measure(const Measuring& measuring, Nodes& nodes, const MeetingPoint& meeting);

// Measures as one rank that torchrun or srun started. Only rank 0 passes on rows.
Measured measure_launched(const Measuring& measuring, const Launch& launch);

}  // namespace ddp::launch
