#pragma once

#include <sys/resource.h>
#include <sys/types.h>
#include <chrono>
#include <cstdint>
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

// Returns whether no running rank has begun a collective that another rank has not begun. Then none waits, and none
// will report a timeout.
bool none_waits(record::SharedProgress& shared);

// Finds the rank that blocks a group in which no rank makes progress: a stopped rank, else one that is behind, else the
// first.
Blame find_hung_rank(record::SharedProgress& shared, const std::vector<int>& ranks, double timeout);

// Counts the processes of this process's cgroup that the kernel killed because memory ran out.
class OomKills {
 public:
  // Reads the counter; construct it before ranks are forked.
  OomKills();

  // For a rank that SIGKILL has ended since then: describes whether the kernel killed it, with the evidence, or without
  // any.
  std::string verdict() const;

 private:
  std::filesystem::path file_;  // empty: no file counts them
  std::int64_t before_ = 0;
};

// Measures for how long ranks have shown no activity, even if no collective waits for them: a run with one rank, or a
// run whose ranks all hang elsewhere.
class Pulse {
 public:
  using Clock = std::chrono::steady_clock;

  explicit Pulse(record::SharedProgress& shared) : shared_(shared) {}

  // Returns the time since the last activity of these ranks: a phase, a batch or a collective that began, or a piece
  // that was saved; while a rank starts, any processor time. Call it regularly.
  Clock::duration silence(const std::map<int, pid_t>& ranks);

 private:
  record::SharedProgress& shared_;
  std::int64_t signs_ = -1;
  Clock::time_point last_ = Clock::now();
  Clock::time_point asked_ = Clock::now();
};

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

  // `ended`: in the order of their detection.
  Blame blame_ended(const std::vector<EndedRank>& ended, const RunningRanks& running);
  // Returns the rank to blame for ranks that show no activity; nothing while they are active, or may still report more
  // themselves. Call it regularly.
  std::optional<Blame> blame_silent(const RunningRanks& running);

 private:
  std::string describe(const EndedRank& ended) const;

  record::SharedProgress& shared_;
  const double timeout_;
  const OomKills oom_kills_;
  Pulse pulse_;
  std::function<std::optional<std::string>()> suspicion_;
};

}  // namespace ddp::launch
