#include "launch/probe/probe.h"

namespace ddp::launch {

rank::Probe probe(const RankLibrary& library, const Plan& plan, const Start& start, bool timed) {
  rank::Task task;
  task.experiment = &plan.experiment;
  task.devices = plan.groups.front();
  task.resume_from = start.resume_from;
  task.init_from = start.init_from;
  return library.ask("trying model and data", task, rank::ProbeRequest{.timed = timed});
}

}  // namespace ddp::launch
