#pragma once

#include <functional>
#include <vector>

#include "base/group_memory.h"
#include "launch/cluster/meeting_point.h"
#include "launch/plan/plan.h"
#include "launch/watch/supervisor.h"
#include "rank/task.h"

namespace ddp::launch {

// What the ranks of a plan do together: they train, or measure the network.
struct Job {
  const Plan& plan;
  std::function<int(const rank::Task&)> as_rank;  // in a process of its own; returns that process's exit code
  bool saves = true;                              // a first request to stop is for the ranks to hear
  rank::Task task = {};                           // what is the same for all ranks of this machine
  std::vector<int> kept = {};                     // descriptors that stay open in every rank of this machine

  // For node 0:
  std::function<RankOutput(int rank)> output = {};  // of any rank, also of another node's
};

// The task of a rank of this machine, as `same` for all ranks. How it meets the others is left open.
rank::Task task_of(const Plan& plan, int local_rank, record::ProgressPage& page, rank::Task same = {});

// What the ranks of this machine share; for one group, and gone from here when the last of them is forked.
GroupMemory memory_for(const Plan& plan);

// Forks the ranks of this machine, which is node 0. `together`: there are no others.
void start_ranks(const Job& job, const MeetingPoint& meeting, bool together, Supervisor& supervisor,
                 record::ProgressPage& page);

}  // namespace ddp::launch
