#include "launch/run/asking.h"

#include <unistd.h>

#include "base/error.h"
#include "launch/cluster/meeting_point.h"
#include "launch/run/job.h"
#include "launch/run/reply_pipe.h"
#include "launch/run/run_summary.h"
#include "launch/run/stopped.h"
#include "launch/watch/supervisor.h"

namespace ddp::launch {

void AskedRanks::ask(const std::function<int(const rank::Task&, const rank::TakeReply&)>& serve,
                     const rank::TakeReply& take) const {
  record::SharedProgress shared(plan_.world_size());
  ReplyPipe pipe;
  const auto as_rank = [&](const rank::Task& task) {
    rank::TakeReply reply;
    if (task.rank == 0) reply = [&](const config::Value& value) { pipe.write(value); };
    return serve(task, reply);
  };
  rank::Task same = task_;
  same.held_data = data_.file();
  same.logs_failure = false;
  std::vector<int> kept = data_.kept();
  kept.push_back(pipe.end_of_rank());
  const Job job{.plan = plan_,
                .as_rank = as_rank,
                .saves = false,
                .task = std::move(same),
                .kept = std::move(kept),
                .output = [](int) { return RankOutput{.descriptor = STDERR_FILENO}; }};
  const MeetingPoint meeting = make_meeting_point(plan_, Launch(), MeetingPlace().own_address);
  Supervisor supervisor(shared, plan_.experiment, job.saves);
  start_ranks(job, meeting, /*together=*/true, supervisor, shared);
  supervisor.watch_also(pipe.descriptor(), [&] { return pipe.read(take); });
  const Outcome outcome = supervisor.watch();
  pipe.read(take);
  if (outcome.failure) {
    const int rank = outcome.failure->rank;
    if (rank >= 0 && shared.rank(rank).no_restart) throw usage_error(outcome.failure->what);
    const std::string who = rank < 0 ? "" : "rank " + std::to_string(rank) + " (" + plan_.device_name(rank) + ")";
    throw training_error(outcome.failure->what, who);
  }
  if (outcome.stop_signal != 0) throw Stopped(exit_code_of(outcome.stop_signal), "stopped by a signal");
}

}  // namespace ddp::launch
