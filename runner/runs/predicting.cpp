#include "runs/predicting.h"

#include <fcntl.h>
#include <poll.h>
#include <algorithm>
#include <csignal>
#include <functional>
#include <utility>

#include "base/error.h"
#include "base/file_descriptor.h"
#include "base/log.h"
#include "launch/cluster/job.h"
#include "launch/process/program.h"
#include "launch/process/stop_signals.h"
#include "launch/watch/supervisor.h"
#include "runs/summary.h"

namespace ddp::runs {
namespace {

// The pipes of the blocks: from the dealer to each rank, and from each rank to the collector.
struct Pipes {
  std::vector<launch::Pipe> to_ranks;
  std::vector<launch::Pipe> from_ranks;

  explicit Pipes(int ranks) {
    for (int r = 0; r < ranks; ++r) {
      to_ranks.push_back(launch::make_pipe());
      from_ranks.push_back(launch::make_pipe());
      widen_pipe(to_ranks.back().to.get());
      widen_pipe(from_ranks.back().to.get());
    }
  }
};

class Processes {
 public:
  Processes(const Predicting& p, int out)
      : p_(p),
        ranks_(p.plan.ranks_here()),
        out_(fcntl(out, F_DUPFD_CLOEXEC, 3)),  // each process redirects its own stdout
        pipes_(ranks_),
        shared_(ranks_ + 2),
        supervisor_(shared_, p.plan.experiment, /*saves=*/false) {}

  launch::Outcome run() {
    start_dealer();
    for (int r = 0; r < ranks_; ++r) start_rank(r);
    start_collector();
    pipes_ = Pipes(0);  // close our ends, or a pipe would outlive its process
    return supervisor_.watch();
  }

  std::int64_t not_finite_rows() {
    std::int64_t rows = 0;
    for (int r = 0; r < ranks_; ++r) rows += shared_.rank(r).not_finite_rows;
    return rows;
  }

  // Returns whether the process refused the input or another argument of the user.
  bool refused(int process) { return process >= 0 && shared_.rank(process).no_restart; }
  bool writes_output(int process) const { return process > ranks_; }
  std::string name_of(int process) const {
    if (process == ranks_) return "the process that reads the input";
    return writes_output(process) ? "the process that writes the output" : "rank " + std::to_string(process);
  }

 private:
  rank::Task task_of_process(int process) {
    rank::Task task = task_of(p_.plan, std::min(process, ranks_ - 1), shared_, p_.task);
    task.rank = process;
    task.world_size = 1;
    task.is_rank = process < ranks_;
    task.logs_failure = false;
    return task;
  }

  void start(int process, std::vector<int> kept, const std::function<int()>& body) {
    supervisor_.start(process, {.descriptor = STDERR_FILENO}, std::move(kept), [&](int) { return body(); });
  }

  static std::vector<std::int64_t> as_numbers(const std::vector<int>& descriptors) {
    return {descriptors.begin(), descriptors.end()};
  }

  void start_dealer() {
    std::vector<int> kept;
    for (const launch::Pipe& pipe : pipes_.to_ranks) kept.push_back(pipe.to.get());
    rank::DealRequest request = p_.deal;
    request.pipes = as_numbers(kept);
    kept.insert(kept.end(), p_.kept.begin(), p_.kept.end());
    start(ranks_, kept, [&] { return p_.library.serve(task_of_process(ranks_), request); });
  }

  void start_rank(int r) {
    const int from = pipes_.to_ranks[static_cast<std::size_t>(r)].from.get();
    const int to = pipes_.from_ranks[static_cast<std::size_t>(r)].to.get();
    rank::PredictRequest request = p_.predict;
    request.from = from;
    request.to = to;
    request.ranks = ranks_;
    start(r, {from, to}, [&] { return p_.library.serve(task_of_process(r), request); });
  }

  void start_collector() {
    std::vector<int> kept;
    for (const launch::Pipe& pipe : pipes_.from_ranks) kept.push_back(pipe.from.get());
    rank::CollectRequest request = p_.collect;
    request.pipes = as_numbers(kept);
    request.out = out_.get();
    kept.push_back(out_.get());
    start(ranks_ + 1, kept, [&] { return p_.library.serve(task_of_process(ranks_ + 1), request); });
  }

  const Predicting& p_;
  const int ranks_;
  const FileDescriptor out_;
  Pipes pipes_;
  record::SharedProgress shared_;
  launch::Supervisor supervisor_;
};

// Returns whether the reader of a pipe has closed it.
bool is_unread(int out) {
  pollfd state{.fd = out, .events = 0, .revents = 0};
  return poll(&state, 1, 0) > 0 && (state.revents & POLLERR) != 0;
}

}  // namespace

void predict(const Predicting& p, int out) {
  Processes processes(p, out);
  const launch::Outcome outcome = processes.run();
  if (outcome.failure) {
    const record::Failure& failure = *outcome.failure;
    // Acts as a program that wrote there itself: SIGPIPE. If the signal is ignored, the failure is reported below.
    if (processes.writes_output(failure.rank) && is_unread(out)) std::raise(SIGPIPE);
    if (processes.refused(failure.rank)) throw usage_error(failure.what);
    throw training_error(failure.what, processes.name_of(failure.rank));
  }
  if (outcome.stop_signal != 0) throw launch::Stopped(exit_code_of(outcome.stop_signal));
  if (const std::int64_t rows = processes.not_finite_rows(); rows > 0) {
    log::warn("the outputs of " + std::to_string(rows) + (rows == 1 ? " row" : " rows") +
              " are not finite (inf or nan)");
  }
}

}  // namespace ddp::runs
