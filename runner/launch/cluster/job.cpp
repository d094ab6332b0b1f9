#include "launch/cluster/job.h"

#include <filesystem>
#include <thread>

#include "base/error.h"
#include "base/log.h"
#include "base/shared_memory.h"
#include "record/saves/checkpoint_settings.h"

namespace ddp::launch {
namespace {

using std::chrono::milliseconds;

// Waits until the store's host listens: rank 0, or the launcher itself. c10d would wait too, but its errors are C++
// backtraces.
void wait_for_store(const Launch& launch, const Address& address, milliseconds patience) {
  const std::string host = launch.store_is_there ? "the launcher" : "rank 0";
  const auto now = NodeLink::Clock::now;
  const auto deadline = now() + patience;
  const auto told_from = now() + milliseconds(2000);  // torchrun starts all ranks at about the same time
  bool told = false;
  while (!connect_to(address, milliseconds(1000))) {
    if (now() >= deadline) {
      throw training_error(host + " is not there after " + in_seconds(patience) + " (distributed.timeout)",
                           address.text());
    }
    if (now() >= told_from && !std::exchange(told, true)) {
      log::info("rank " + std::to_string(launch.rank) + " is waiting for " + host + " at " + address.text());
    }
    std::this_thread::sleep_for(milliseconds(100));
  }
}

// The place where the ranks of torchrun or srun meet, for this rank.
MeetingPlace launched_meeting_place(const Plan& plan, FileDescriptor& listener) {
  const Launch& launch = plan.launch;
  if (launch.master_host.empty()) return {.file = launch.meeting_file, .own_address = outward_ip()};
  Address address = resolve(launch.master_host, launch.master_port);
  if (launch.rank == 0 && !launch.store_is_there) {
    listener = listen_on(address);
  } else {
    wait_for_store(launch, address,
                   milliseconds(static_cast<std::int64_t>(plan.experiment.distributed.timeout * 1000)));
  }
  return {.host = address.ip,
          .port = address.port,
          .listener = listener.get(),
          .prefix = launch.id.empty() ? "" : "ddp-exp/attempt-" + std::to_string(launch.attempt),
          .own_address = own_ip_towards(address)};
}

}  // namespace

MeetingPlace MeetingPoint::place_for(int rank) const {
  return {.file = file.path(),
          .host = address.ip,
          .port = address.port,
          .listener = rank == 0 ? listener.get() : -1,
          .own_address = own_ip};
}

MeetingPoint make_meeting_point(const Plan& plan, const std::string& own_ip) {
  const Launch& launch = plan.launch;
  MeetingPoint point{.listener = {}, .address = {.ip = own_ip}, .file = {}};
  if (launch.nodes == 1 && !launch.meeting_file.empty()) {
    std::error_code ignored;
    if (std::filesystem::exists(launch.meeting_file, ignored)) {
      throw usage_error("exists already: another run uses it, or a killed run left it", launch.meeting_file,
                        "remove it, or give another file in distributed.init_method");
    }
    point.file = MeetingFile(launch.meeting_file);
    return point;
  }
  if (launch.nodes == 1 && !launch.master_host.empty()) {
    point.address = resolve(launch.master_host, launch.master_port);
    point.own_ip = point.address.ip;
  }
  if (!plan.strategy.one_process && (!plan.shares_memory() || launch.nodes > 1))
    point.listener = listen_on(point.address);
  return point;
}

rank::Task task_of(const Plan& plan, int local_rank, record::SharedProgress& shared, rank::Task same) {
  same.experiment = &plan.experiment;
  same.config_hash = plan.config_hash();
  same.settings = record::settings_of_checkpoint(plan.experiment);
  same.rank = plan.first_rank + local_rank;
  same.world_size = plan.world_size();
  same.ranks_here = plan.ranks_here();
  same.first_rank = plan.first_rank;
  same.bytes_to_record = plan.bytes_to_record();
  same.devices = plan.groups.at(local_rank);
  same.device_names = plan.device_name(local_rank);
  same.progress = &shared;
  return same;
}

rank::Task launched_task(const Plan& plan, record::SharedProgress& shared, FileDescriptor& listener) {
  rank::Task task = task_of(plan, plan.launch.local_rank, shared);
  task.meeting = launched_meeting_place(plan, listener);
  task.together = false;
  task.watched = false;
  return task;
}

void start_ranks(const Job& job, const MeetingPoint& meeting, bool together, Supervisor& supervisor,
                 record::SharedProgress& shared) {
  const Plan& plan = job.plan;
  // The ranks share it; this process drops it once the last rank is forked.
  const GroupMemory memory = plan.shares_memory() ? GroupMemory(plan.ranks_here()) : GroupMemory();
  for (int r = 0; r < plan.ranks_here(); ++r) {
    rank::Task task = task_of(plan, r, shared, job.task);
    const MeetingPlace place = meeting.place_for(r);
    task.meeting = memory.at(place);
    task.together = together;
    std::vector<int> kept = memory.kept();
    kept.insert(kept.end(), job.kept.begin(), job.kept.end());
    if (place.listener >= 0) kept.push_back(place.listener);
    supervisor.start(task.rank, job.output(task.rank), kept, [&](int console) {
      task.console = console;
      return job.as_rank(task);
    });
  }
}

}  // namespace ddp::launch
