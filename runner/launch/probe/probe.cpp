#include "launch/probe/probe.h"

#include "launch/probe/probe_cache.h"

namespace ddp::launch {

rank::Probe probe(const RankLibrary& library, const Plan& plan, const Start& start, const HeldData& data, bool timed) {
  // The key is computed before the try: a file that changes meanwhile is tried again.
  const std::string key = timed ? "" : probe_key(plan, start);
  if (const auto known = find_probe(key)) return *known;
  rank::Task task;
  task.experiment = &plan.experiment;
  task.devices = plan.groups.front();
  task.world_size = plan.world_size();
  task.resume_from = start.resume_from;
  task.init_from = start.init_from;
  task.held_data = data.file();
  const auto found = library.ask("trying model and data", task, rank::ProbeRequest{.timed = timed}, data.kept());
  keep_probe(key, found);
  return found;
}

}  // namespace ddp::launch
