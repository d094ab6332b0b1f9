#include "launch/job.h"

#include "base/shared_mapping.h"

namespace ddp::launch {
namespace {

// More ranks than a screen holds speak only in their logs.
constexpr int kSpeakingRanks = 8;

}  // namespace

void start_ranks(const Job& job, const MeetingPoint& meeting, bool together, Supervisor& supervisor,
                 record::ProgressPage& page) {
  const Plan& plan = job.plan;
  if (!job.saves) supervisor.end_at_first_stop();
  // Afresh for each group, and gone from here when its last rank is forked.
  const SharedMapping memory =
      plan.shares_memory() ? SharedMapping(rank::kSharedBytesPerRank * plan.ranks_here()) : SharedMapping();
  for (int r = 0; r < plan.ranks_here(); ++r) {
    rank::Task task = job.task;
    task.experiment = &plan.experiment;
    task.rank = r;
    task.world_size = plan.world_size();
    task.devices = plan.groups[r];
    task.device_names = plan.device_name(r);
    task.meeting = meeting.place_for(r, memory);
    task.progress = &page;
    task.together = together;
    std::vector<int> kept = job.kept;
    if (r == 0 && meeting.listener) kept.push_back(meeting.listener.get());
    supervisor.start(r, job.output(r), kept, [&](int console) {
      if (r < kSpeakingRanks) task.console = console;
      return job.as_rank(task);
    });
  }
}

}  // namespace ddp::launch
