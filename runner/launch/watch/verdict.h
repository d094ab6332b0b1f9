#pragma once

#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include <sys/resource.h>
#include <sys/types.h>

#include "launch/watch/late_rank.h"
#include "launch/watch/oom_kills.h"
#include "launch/watch/pulse.h"
#include "record/shared_progress.h"
#include "record/summary.h"

namespace ddp::launch {

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
  Verdict(record::SharedProgress& shared, double timeout) : shared_(shared), timeout_(timeout), pulse_(shared) {}

  // Called before an absent rank is blamed: names another possible cause, such as a node that is silent.
  void suspect(std::function<std::optional<std::string>()> suspicion) { suspicion_ = std::move(suspicion); }

  struct Blame {
    record::Failure failure;
    std::vector<int> hanging = {};  // the ranks that the others wait for
  };
  // `ended`: in the order of their detection.
  Blame blame_ended(const std::vector<EndedRank>& ended, const RunningRanks& running);
  // Returns the rank to blame for ranks that show no activity; nothing while they are active, or may still report more
  // themselves. Call it regularly.
  std::optional<Blame> blame_silent(const RunningRanks& running);

 private:
  Blame blame_late(const LateRank& late) const;
  std::string describe(const EndedRank& ended) const;

  record::SharedProgress& shared_;
  const double timeout_;
  const OomKills oom_kills_;
  Pulse pulse_;
  std::function<std::optional<std::string>()> suspicion_;
};

}  // namespace ddp::launch
