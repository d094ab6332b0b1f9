#pragma once

#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include <sys/types.h>

#include "launch/watch/late_rank.h"
#include "launch/watch/oom_kills.h"
#include "launch/watch/pulse.h"
#include "record/progress_page.h"
#include "record/summary.h"

namespace ddp::launch {

// A rank that has ended, not well.
struct EndedRank {
  int rank;
  std::string log;  // for those who look for it
  int status;       // as waitpid tells it
};

// Those of this machine that run.
using RunningRanks = std::map<int, pid_t>;

// Notes on the page which of them are stopped.
void note_stopped(record::ProgressPage& page, const RunningRanks& running);

// Finds who is to blame where a group of ranks fails: from how ranks have ended, and from what the page tells of those
// that still run.
class Verdict {
 public:
  // `timeout`: how many seconds a rank waits for another in a collective. To be made before the ranks are.
  Verdict(record::ProgressPage& page, double timeout) : page_(page), timeout_(timeout), pulse_(page) {}

  // Before a rank is blamed that only stayed away: names what may have kept it, such as a node that is not heard of.
  void suspect(std::function<std::optional<std::string>()> suspicion) { suspicion_ = std::move(suspicion); }

  struct Blame {
    record::Failure failure;
    std::vector<int> hanging = {};  // the ranks that keep the others waiting
  };
  // `ended`: in the order in which they were found.
  Blame of_ended(const std::vector<EndedRank>& ended, const RunningRanks& running);
  // Of ranks that do nothing; nothing while they do something, or may yet tell more themselves. To be asked now and
  // then.
  std::optional<Blame> of_silence(const RunningRanks& running);

 private:
  Blame of_late(const LateRank& late) const;
  std::string describe(const EndedRank& ended) const;

  record::ProgressPage& page_;
  const double timeout_;
  const OomKills oom_kills_;
  Pulse pulse_;
  std::function<std::optional<std::string>()> suspicion_;
};

}  // namespace ddp::launch
