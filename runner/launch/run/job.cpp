#include "launch/run/job.h"

#include "record/saves/checkpoint_settings.h"

namespace ddp::launch {
rank::Task task_of(const Plan& plan, int local_rank, record::SharedProgress& shared, rank::Task same) {
  same.experiment = &plan.experiment;
  same.config_hash = plan.config_hash();
  same.settings = record::settings_of_checkpoint(plan.experiment);
  same.rank = plan.first_rank + local_rank;
  same.world_size = plan.world_size();
  same.ranks_here = plan.ranks_here();
  same.first_rank = plan.first_rank;
  same.devices = plan.groups.at(local_rank);
  same.device_names = plan.device_name(local_rank);
  same.progress = &shared;
  return same;
}

GroupMemory memory_for(const Plan& plan) {
  return plan.shares_memory() ? GroupMemory(plan.ranks_here()) : GroupMemory();
}

void start_ranks(const Job& job, const MeetingPoint& meeting, bool together, Supervisor& supervisor,
                 record::SharedProgress& shared) {
  const Plan& plan = job.plan;
  const GroupMemory memory = memory_for(plan);
  for (int r = 0; r < plan.ranks_here(); ++r) {
    rank::Task task = task_of(plan, r, shared, job.task);
    task.meeting = memory.at(meeting.place_for(r));
    task.together = together;
    std::vector<int> kept = memory.kept();
    kept.insert(kept.end(), job.kept.begin(), job.kept.end());
    if (r == 0 && meeting.listener) kept.push_back(meeting.listener.get());
    supervisor.start(r, job.output(r), kept, [&](int console) {
      task.console = console;
      return job.as_rank(task);
    });
  }
}

}  // namespace ddp::launch
