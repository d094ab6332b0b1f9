#include "launch/watch/verdict.h"

#include <sys/wait.h>
#include <algorithm>
#include <csignal>
#include <cstring>

#include "base/limits.h"
#include "launch/process/process_state.h"

namespace ddp::launch {
namespace {

// Seconds after distributed.timeout. A collective that times out reports more than silence does, a moment later. If a
// rank waits in a collective, its report is awaited for longer.
constexpr double kAfterCollective = 0.5;
constexpr double kLongAfterCollective = 10;

}  // namespace

void note_stopped(record::SharedProgress& shared, const RunningRanks& running) {
  for (const auto& [rank, pid] : running) shared.rank(rank).stopped = state_of(pid).stopped;
}

Verdict::Blame Verdict::blame_ended(const std::vector<EndedRank>& ended, const RunningRanks& running) {
  // A rank that only lost another rank is an effect; the cause was killed, or failed by itself.
  const auto is_late = [&](const EndedRank& e) { return shared_.rank(e.rank).peer_late.load(); };
  const auto is_cause = [&](const EndedRank& e) { return !shared_.rank(e.rank).peer_lost && !is_late(e); };
  const auto cause = std::find_if(ended.begin(), ended.end(), is_cause);
  const auto late = std::find_if(ended.begin(), ended.end(), is_late);
  if (cause == ended.end() && late != ended.end()) {
    if (const auto suspected = suspicion_ ? suspicion_() : std::nullopt) {
      return {.failure = {.rank = -1, .what = *suspected, .log = ""}};
    }
    note_stopped(shared_, running);
    return blame_late(find_late_rank(shared_, late->rank, timeout_));
  }
  const EndedRank& culprit = cause == ended.end() ? ended.front() : *cause;
  return {.failure = {.rank = culprit.rank, .what = describe(culprit), .log = culprit.log}};
}

std::optional<Verdict::Blame> Verdict::blame_silent(const RunningRanks& running) {
  const std::chrono::duration<double> silence = pulse_.silence(running);
  if (silence.count() < timeout_ + kAfterCollective) return {};
  note_stopped(shared_, running);
  if (!none_waits(shared_) && silence.count() < timeout_ + kLongAfterCollective) return {};
  std::vector<int> ranks;
  for (const auto& [rank, pid] : running) ranks.push_back(rank);
  return blame_late(find_hung_rank(shared_, ranks, timeout_));
}

Verdict::Blame Verdict::blame_late(const LateRank& late) const {
  return {.failure = {.rank = late.rank, .what = late.what, .log = ""}, .hanging = late.away};
}

std::string Verdict::describe(const EndedRank& ended) const {
  auto& progress = shared_.rank(ended.rank);
  if (WIFEXITED(ended.status) && progress.failed) return progress.error;
  const std::string place = " " + record::standing(progress);
  if (WIFSIGNALED(ended.status)) {
    const int signal = WTERMSIG(ended.status);
    const char* name = sigabbrev_np(signal);
    const std::string killed = "killed by " + (name ? "SIG" + std::string(name) : "signal " + std::to_string(signal));
    if (const std::string limit = cpu_time_limit(signal, ended.used); !limit.empty()) {
      return killed + place + ": " + limit;
    }
    return killed + place + (signal == SIGKILL ? oom_kills_.verdict() : "");
  }
  return "exited with code " + std::to_string(WEXITSTATUS(ended.status)) + place;
}

}  // namespace ddp::launch
