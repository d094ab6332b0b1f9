#include "launch/run/measuring.h"

#include <unistd.h>

#include "launch/cluster/node_watch.h"
#include "launch/run/job.h"
#include "launch/run/reply_pipe.h"
#include "launch/run/run_summary.h"

namespace ddp::launch {
namespace {

using config::Value;
using rank::CommRow;

// Describes the measurement that was running when `done` rows were complete.
std::string row_in_words(const rank::CommRequest& o, std::size_t done) {
  if (done >= o.ops.size() * o.sizes.size()) return "";
  return "\n  measurement " + std::to_string(done + 1) + " is " + o.ops[done / o.sizes.size()] + " of " +
         std::to_string(o.sizes[done % o.sizes.size()]) + " B";
}

std::string describe(const record::Failure& failure, const Plan& plan, const Nodes& nodes) {
  std::vector<std::string> devices = plan.device_names();
  for (const auto& device : nodes.devices()) devices.push_back(device);
  if (failure.rank < 0 || failure.rank >= static_cast<int>(devices.size())) return failure.what;
  return "rank " + std::to_string(failure.rank) + " (" + devices[failure.rank] + "): " + failure.what;
}

}  // namespace

Measured measure(const Measuring& m, Nodes& nodes, const MeetingPoint& meeting) {
  record::SharedProgress shared(m.plan.world_size());
  nodes.start(meeting.address);
  ReplyPipe pipe;
  const auto as_rank = [&](const rank::Task& task) {
    rank::TakeReply reply;
    if (task.rank == 0) reply = [&](const Value& row) { pipe.write(row); };
    return m.library.serve(task, m.request, reply);
  };
  // The ranks' output, such as NCCL_DEBUG=INFO, is for the person who measures.
  const Job job{.plan = m.plan,
                .as_rank = as_rank,
                .saves = false,
                .task = {.logs_failure = false},
                .kept = {pipe.end_of_rank()},
                .output = [](int) { return RankOutput{.descriptor = STDERR_FILENO}; }};
  Supervisor supervisor(shared, m.plan.experiment, job.saves);
  start_ranks(job, meeting, nodes.all().empty(), supervisor, shared);
  const NodeWatch watch(nodes, supervisor, shared, job);
  std::size_t rows = 0;
  const auto take = [&](const Value& row) {
    ++rows;
    m.take_row(config::read<CommRow>(row));
  };
  supervisor.watch_also(pipe.descriptor(), [&] { return pipe.read(take); });
  const Outcome outcome = supervisor.watch();
  pipe.read(take);
  if (outcome.failure) return {1, describe(*outcome.failure, m.plan, nodes) + row_in_words(m.request, rows)};
  if (outcome.stop_signal != 0) return {exit_code_of(outcome.stop_signal), "stopped"};
  return {};
}

Measured measure_launched(const Measuring& m, const Launch& launch) {
  record::SharedProgress shared(m.plan.world_size());
  FileDescriptor listener;
  rank::Task task = task_of(m.plan, launch.local_rank, shared);
  task.meeting = launched_meeting_place(m.plan, launch, listener);
  task.together = false;
  task.watched = false;
  const int code = m.library.serve(task, m.request, [&](const Value& row) { m.take_row(config::read<CommRow>(row)); });
  return {code, code == 0 ? "" : shared.rank(launch.rank).error};
}

}  // namespace ddp::launch
