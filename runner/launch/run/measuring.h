#pragma once

#include <functional>
#include <string>

#include "launch/cluster/meeting_point.h"
#include "launch/cluster/nodes.h"
#include "launch/library/rank_library.h"
#include "launch/plan/plan.h"
#include "rank/comm.h"

namespace ddp::launch {

// What is measured, where, and who is told of each row when it is there.
struct Measuring {
  const Plan& plan;
  const RankLibrary& library;
  const rank::CommRequest& request;
  std::function<void(const rank::CommRow&)> take_row;
};

// How it ended: with this exit code, and of a failure, its text.
struct Measured {
  int exit_code = 0;
  std::string failure = {};
};

// As node 0, or the only one: forks the ranks, and watches them to their end. Wrong values are no failure of theirs.
Measured measure(const Measuring& measuring, Nodes& nodes, const MeetingPoint& meeting);

// As one rank that torchrun or srun started. Rank 0's rows are taken.
Measured measure_launched(const Measuring& measuring, const Launch& launch);

}  // namespace ddp::launch
