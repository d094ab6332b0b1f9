#include "launch/run/measuring.h"

#include <unistd.h>
#include <cerrno>

#include "launch/cluster/node_watch.h"
#include "launch/process/pipe.h"
#include "launch/run/job.h"
#include "launch/run/run_summary.h"

namespace ddp::launch {
namespace {

using config::Value;
using rank::CommRow;

// The way of rank 0's rows to this process: a line each.
class RowPipe {
 public:
  int descriptor() const { return pipe_.from.get(); }
  int end_of_rank() const { return pipe_.to.get(); }
  void write(const Value& row) const {
    const std::string line = row.dump() + "\n";
    write_all(pipe_.to.get(), line.data(), line.size(), "pipe");
  }

  // Calls `take` for each row that is there. Returns false when no more can come.
  template <class Take>
  bool read(const Take& take) {
    pipe_.to.close();
    char piece[4096];
    ssize_t size = 0;
    while ((size = ::read(pipe_.from.get(), piece, sizeof piece)) > 0) {
      text_.append(piece, static_cast<std::size_t>(size));
      for (std::size_t end; (end = text_.find('\n')) != std::string::npos;) {
        take(config::read<CommRow>(Value::parse(text_.substr(0, end))));
        text_.erase(0, end + 1);
      }
    }
    return size < 0 && (errno == EAGAIN || errno == EINTR);
  }

 private:
  Pipe pipe_ = make_pipe(/*reads_wait=*/false);
  std::string text_;
};

// What the ranks were at, so many rows being done.
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
  record::ProgressPage page(m.plan.world_size());
  nodes.start(meeting.address);
  RowPipe pipe;
  const auto as_rank = [&](const rank::Task& task) {
    rank::TakeReply reply;
    if (task.rank == 0) reply = [&](const Value& row) { pipe.write(row); };
    return m.library.serve(task, m.request, reply);
  };
  // What ranks say, as NCCL_DEBUG=INFO makes them, is for the person who measures.
  const Job job{.plan = m.plan,
                .as_rank = as_rank,
                .saves = false,
                .task = {.logs_failure = false},
                .output = [](int) { return RankOutput{.descriptor = STDERR_FILENO}; },
                .kept = {pipe.end_of_rank()}};
  Supervisor supervisor(page, m.plan.experiment, job.saves);
  start_ranks(job, meeting, nodes.all().empty(), supervisor, page);
  const NodeWatch watch(nodes, supervisor, page, job);
  std::size_t rows = 0;
  const auto take = [&](const CommRow& row) {
    ++rows;
    m.take_row(row);
  };
  supervisor.watch_also(pipe.descriptor(), [&] { return pipe.read(take); });
  const Outcome outcome = supervisor.watch();
  pipe.read(take);
  if (outcome.failure) return {1, describe(*outcome.failure, m.plan, nodes) + row_in_words(m.request, rows)};
  if (outcome.stop_signal != 0) return {exit_code_of(outcome.stop_signal), "stopped"};
  return {};
}

Measured measure_launched(const Measuring& m, const Launch& launch) {
  record::ProgressPage page(m.plan.world_size());
  FileDescriptor listener;
  rank::Task task = task_of(m.plan, launch.local_rank, page);
  task.meeting = launched_meeting_place(launch, listener);
  task.together = false;
  task.watched = false;
  return {m.library.serve(task, m.request, [&](const Value& row) { m.take_row(config::read<CommRow>(row)); })};
}

}  // namespace ddp::launch
