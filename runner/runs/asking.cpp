#include "runs/asking.h"

#include <poll.h>
#include <unistd.h>
#include <cerrno>
#include <optional>

#include "base/error.h"
#include "base/log.h"
#include "config/option/value.h"
#include "launch/cluster/node_watch.h"
#include "launch/process/program.h"
#include "launch/process/stop_signals.h"
#include "launch/watch/supervisor.h"

namespace ddp::runs {
namespace {

using config::Value;

// The pipe of rank 0's replies to this process: one line of JSON each.
class ReplyPipe {
 public:
  int descriptor() const { return pipe_.from.get(); }
  int end_of_rank() const { return pipe_.to.get(); }
  // Called in the rank.
  void write(const Value& reply) const;
  // Called in this process after the ranks are forked: calls `take` for each reply received. Returns false at the end.
  bool read(const rank::TakeReply& take);

 private:
  launch::Pipe pipe_ = launch::make_pipe(/*reads_wait=*/false);
  std::string text_;
};

// Replies are printed. Signals are blocked while ranks run, so a write that waits for its reader would leave this
// process deaf: meanwhile a stop signal ends it, and its ranks with it. Nothing is to be saved.
void wait_for_stdout() {
  pollfd out{.fd = STDOUT_FILENO, .events = POLLOUT, .revents = 0};
  if (poll(&out, 1, 0) != 0) return;
  const sigset_t set = launch::stop_signal_set();
  sigset_t before;
  sigprocmask(SIG_UNBLOCK, &set, &before);
  while (poll(&out, 1, -1) < 0 && errno == EINTR) {
  }
  sigprocmask(SIG_SETMASK, &before, nullptr);
}

void ReplyPipe::write(const Value& reply) const {
  const std::string line = rank::json_line(reply) + "\n";
  write_all(pipe_.to.get(), line.data(), line.size(), "pipe");
}

bool ReplyPipe::read(const rank::TakeReply& take) {
  pipe_.to.close();
  char piece[4096];
  ssize_t size = 0;
  while ((size = ::read(pipe_.from.get(), piece, sizeof piece)) > 0) {
    text_.append(piece, static_cast<std::size_t>(size));
    for (std::size_t end; (end = text_.find('\n')) != std::string::npos;) {
      wait_for_stdout();
      take(config::Value::parse(text_.substr(0, end)));
      text_.erase(0, end + 1);
    }
  }
  return size < 0 && (errno == EAGAIN || errno == EINTR);
}

// Describes the measurement that was running when `done` rows were complete.
std::string row_in_words(const rank::CommRequest& o, std::size_t done) {
  if (done >= o.ops.size() * o.sizes.size()) return "";
  return "\n  measurement " + std::to_string(done + 1) + " is " + o.ops[done / o.sizes.size()] + " of " +
         std::to_string(o.sizes[done % o.sizes.size()]) + " B";
}

std::string describe(const record::Failure& failure, const launch::Plan& plan, const launch::Nodes& nodes) {
  std::vector<std::string> devices = plan.device_names();
  for (const auto& device : nodes.devices()) devices.push_back(device);
  if (failure.rank < 0 || failure.rank >= static_cast<int>(devices.size())) return failure.what;
  return "rank " + std::to_string(failure.rank) + " (" + devices[failure.rank] + "): " + failure.what;
}

using Serve = std::function<int(const rank::Task&, const rank::TakeReply&)>;  // in a rank; returns its exit code

// While it exists, this process and its ranks print errors only.
class Silence {
 public:
  Silence() { log::set_verbosity(log::Verbosity::quiet); }
  ~Silence() { log::set_verbosity(before_); }
  Silence(const Silence&) = delete;
  Silence& operator=(const Silence&) = delete;

 private:
  const log::Verbosity before_ = log::verbosity();
};

// Forks the ranks of a job, and passes on the replies of rank 0 until all ranks have ended. Unless `silent`, the output
// of the ranks, such as NCCL_DEBUG=INFO, is for the person who asks.
launch::Outcome run_replying(launch::Job job, const Serve& serve, launch::Nodes& nodes, record::SharedProgress& shared,
                             const rank::TakeReply& take, bool silent = false) {
  std::optional<Silence> silence;
  if (silent) silence.emplace();
  const launch::MeetingPoint meeting = make_meeting_point(job.plan, nodes.own_ip());
  nodes.start(meeting.address, {.nodes = job.plan.launch.nodes, .ranks_here = job.plan.ranks_here()});
  ReplyPipe pipe;
  job.as_rank = [&](const rank::Task& task) {
    rank::TakeReply reply;
    if (task.rank == 0) reply = [&](const Value& value) { pipe.write(value); };
    return serve(task, reply);
  };
  job.saves = false;
  job.task.logs_failure = false;
  job.kept.push_back(pipe.end_of_rank());
  job.output = [&](int) { return launch::RankOutput{.descriptor = silent ? -1 : STDERR_FILENO}; };
  launch::Supervisor supervisor(shared, job.plan.experiment, job.saves);
  start_ranks(job, meeting, nodes.all().empty(), supervisor, shared);
  const launch::NodeWatch others(nodes, supervisor, shared, job);
  supervisor.watch_also(pipe.descriptor(), [&] { return pipe.read(take); });
  const launch::Outcome outcome = supervisor.watch();
  pipe.read(take);
  return outcome;
}

}  // namespace

void AskedRanks::ask(const Serve& serve, const rank::TakeReply& take) const {
  record::SharedProgress shared(plan_.world_size());
  launch::Job job{.plan = plan_, .as_rank = {}, .task = task_, .kept = data_.kept()};
  job.task.held_data = data_.file();
  launch::Nodes alone(plan_.launch, {}, std::chrono::milliseconds(0));
  const launch::Outcome outcome = run_replying(std::move(job), serve, alone, shared, take, silent_);
  if (outcome.failure) {
    const int rank = outcome.failure->rank;
    if (rank >= 0 && shared.rank(rank).no_restart) throw usage_error(outcome.failure->what);
    const std::string who = rank < 0 ? "" : "rank " + std::to_string(rank) + " (" + plan_.device_name(rank) + ")";
    throw training_error(outcome.failure->what, who);
  }
  if (outcome.stop_signal != 0) throw launch::Stopped(exit_code_of(outcome.stop_signal), "stopped by a signal");
}

Ending measure(const Measuring& m, launch::Nodes& nodes) {
  record::SharedProgress shared(m.plan.world_size());
  const auto serve = [&](const rank::Task& task, const rank::TakeReply& reply) {
    return m.library.serve(task, m.request, reply);
  };
  std::size_t rows = 0;
  const auto take = [&](const Value& row) {
    ++rows;
    m.take_row(config::read<rank::CommRow>(row));
  };
  const launch::Outcome outcome = run_replying({.plan = m.plan, .as_rank = {}}, serve, nodes, shared, take);
  if (outcome.failure) return {1, describe(*outcome.failure, m.plan, nodes) + row_in_words(m.request, rows)};
  if (outcome.stop_signal != 0) return {exit_code_of(outcome.stop_signal), "stopped"};
  return {};
}

Ending measure_launched(const Measuring& m) {
  record::SharedProgress shared(m.plan.world_size());
  FileDescriptor listener;
  const rank::Task task = launched_task(m.plan, shared, listener);
  const int code =
      m.library.serve(task, m.request, [&](const Value& row) { m.take_row(config::read<rank::CommRow>(row)); });
  return {code, code == 0 ? "" : shared.rank(m.plan.launch.rank).error};
}

}  // namespace ddp::runs
