#pragma once

#include <functional>
#include <vector>

#include "base/group_memory.h"
#include "launch/cluster/meeting_point.h"
#include "launch/plan/plan.h"
#include "launch/watch/supervisor.h"
#include "rank/task.h"

namespace ddp::launch {

// The common work of a plan's ranks: training, or measuring the network.
struct Job {
  const Plan& plan;
  std::function<int(const rank::Task&)> as_rank;  // in a process of its own; returns its exit code
  bool saves = true;                              // the ranks handle a first stop signal themselves, by saving
  rank::Task task = {};                           // the part that is the same on every rank of this machine
  std::vector<int> kept = {};                     // descriptors that stay open in every rank of this machine
  config::Value data = config::Value::array();    // the files that this machine reads: record::content_samples

  // For node 0:
  std::function<RankOutput(int rank)> output = {};  // of any rank, including other nodes' ranks
};

// Returns the task of a rank of this machine: `same`, with the rank's own members set. The meeting place stays unset.
rank::Task task_of(const Plan& plan, int local_rank, record::SharedProgress& shared, rank::Task same = {});

// Memory that the ranks of this machine share, for one group. The caller drops it once the last rank is forked.
GroupMemory memory_for(const Plan& plan);

// Forks the ranks of this machine, which is node 0. `together`: all ranks are on this machine.
void start_ranks(const Job& job, const MeetingPoint& meeting, bool together, Supervisor& supervisor,
                 record::SharedProgress& shared);

}  // namespace ddp::launch
