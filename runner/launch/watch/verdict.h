#pragma once

#include <sys/resource.h>
#include <sys/types.h>
#include <chrono>
#include <cstdint>
#include <deque>
#include <filesystem>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "record/shared_progress.h"
#include "record/summary.h"

namespace ddp::launch {

// The rank to blame for the failure of a group.
struct Blame {
  record::Failure failure;
  std::vector<int> hanging = {};  // the ranks that the others wait for
};

// Finds in the shared progress the rank that made another rank time out in a collective: the first absent rank; if none
// is absent, the rank that waited. `waiting`: the rank that gave up, after `timeout` seconds.
Blame find_late_rank(record::SharedProgress& shared, int waiting, double timeout);

// A rank that has ended with a failure.
struct EndedRank {
  int rank;
  std::string log;  // name for messages
  int status = 0;   // from wait4
  rusage used{};
};

// The running ranks of this machine.
using RunningRanks = std::map<int, pid_t>;

// Notes in the shared progress which of these ranks are stopped.
void note_stopped(record::SharedProgress& shared, const RunningRanks& running);

// Finds the rank to blame if a group of ranks fails: from how ranks ended, and from the entries of the shared progress
// for the ranks that still run.
class Verdict {
 public:
  // `timeout`: the seconds that a rank waits for another one in a collective. Construct it before the ranks are forked.
  Verdict(record::SharedProgress& shared, double timeout);

  // For a group with ranks on other nodes. Called before an absent rank is blamed: names another possible cause, such
  // as a node that is silent.
  void suspect(std::function<std::optional<std::string>()> suspicion) { suspicion_ = std::move(suspicion); }

  // `ended`: in the order of their detection. Returns nothing while these ranks only lost others, and the cause may
  // still become known. Call it regularly.
  std::optional<Blame> blame_ended(const std::vector<EndedRank>& ended, const RunningRanks& running);
  // Returns the rank to blame for ranks that show no activity; nothing while they are active, or may still report more
  // themselves. Call it regularly.
  std::optional<Blame> blame_silent(const RunningRanks& running);
  // Returns which rank holds up the run, and where, if no rank has done anything for ten times as long as its median
  // step takes, and for some seconds; nothing while the run goes on. Call it regularly, after blame_silent().
  std::optional<std::string> stuck(const RunningRanks& running);

 private:
  using Clock = std::chrono::steady_clock;

  Clock::duration silence(const RunningRanks& running);
  std::string describe(const EndedRank& ended) const;
  std::string who_killed() const;

  record::SharedProgress& shared_;
  const double timeout_;
  std::function<std::optional<std::string>()> suspicion_;
  // The kernel's count of processes of this cgroup that it killed because memory ran out.
  const std::filesystem::path oom_file_;         // empty: no file counts them
  const std::int64_t oom_kills_ = 0;             // before the ranks were forked
  std::optional<Clock::time_point> first_lost_;  // when a rank was found that ended because it lost another one
  // The ranks' signs of activity.
  std::int64_t signs_ = -1;
  Clock::time_point last_sign_ = Clock::now();
  Clock::time_point asked_ = Clock::now();
  // Seconds of a step between two looks, the newest last; rank 0's step at the last look that saw another one, and
  // when.
  std::deque<double> step_seconds_;
  std::int64_t step_seen_ = -1;
  std::optional<Clock::time_point> step_seen_at_;
};

}  // namespace ddp::launch
