#include "launch/watch/verdict.h"

#include <sys/wait.h>
#include <algorithm>
#include <csignal>
#include <cstdio>
#include <cstring>
#include <fstream>
#include <limits>
#include <numeric>
#include <sstream>
#include <utility>

#include "base/limits.h"
#include "launch/watch/hung_stacks.h"

namespace ddp::launch {
namespace fs = std::filesystem;
using namespace std::chrono_literals;
namespace {

// The state of a process, from /proc.
struct ProcessState {
  bool stopped = false;     // by SIGSTOP or a debugger
  long processor_time = 0;  // used by all threads, in clock ticks
};

// Returns a default state if the process is gone.
ProcessState state_of(pid_t pid) {
  std::ifstream in("/proc/" + std::to_string(pid) + "/stat");
  std::string stat;
  std::getline(in, stat);
  // proc(5): after the name in parentheses come the state and, eleven fields later, user and system time.
  const auto end = stat.rfind(')');
  if (end == std::string::npos) return {};
  std::istringstream fields(stat.substr(end + 1));
  char state = 0;
  fields >> state;
  std::string skipped;
  for (int i = 0; i < 10; ++i) fields >> skipped;
  long user = 0;
  long system = 0;
  fields >> user >> system;
  return {.stopped = state == 'T' || state == 't', .processor_time = user + system};
}

std::string seconds(double value) {
  char text[32];
  std::snprintf(text, sizeof text, "%g s", value);
  return text;
}

std::string stopped_in_words(const record::RankProgress& rank) {
  return rank.stopped ? ", and its process is stopped (SIGSTOP?)" : "";
}

// Describes the rank's last action.
std::string place_in_words(const record::RankProgress& rank) {
  const std::string collective = rank.collective == record::CollectiveKind::none
                                     ? ""
                                     : std::string(", its last collective: ") + record::to_string(rank.collective);
  return record::standing(rank) + collective + stopped_in_words(rank);
}

// Returns the ranks that hold up the others: the stopped ones, or else the ones furthest behind.
std::vector<int> culprits_of(record::SharedProgress& shared, const std::vector<int>& ranks) {
  std::vector<int> stopped;
  std::vector<int> behind;
  std::int64_t least = std::numeric_limits<std::int64_t>::max();
  for (const int r : ranks) {
    const std::int64_t begun = shared.rank(r).collectives;
    if (shared.rank(r).stopped) stopped.push_back(r);
    if (begun < least) behind.clear();
    least = std::min(least, begun);
    if (begun == least) behind.push_back(r);
  }
  return stopped.empty() ? behind : stopped;
}

const fs::path kCgroups = "/sys/fs/cgroup";

// The line "oom_kill 3" of cgroup v2's memory.events, or v1's memory.oom_control.
std::optional<std::int64_t> oom_kills(const fs::path& file) {
  std::ifstream in(file);
  std::string name;
  std::int64_t count = 0;
  while (in >> name >> count) {
    if (name == "oom_kill") return count;
  }
  return {};
}

// The counter's file for this process. In a container the cgroup may be mounted as if it were the root.
fs::path counting_file() {
  std::ifstream in("/proc/self/cgroup");
  // "4:memory:/job/7" of v1, "0::/job/7" of v2.
  for (std::string line; std::getline(in, line);) {
    std::istringstream parts(line);
    std::string number;
    std::string controllers;
    std::string path;
    std::getline(parts, number, ':');
    std::getline(parts, controllers, ':');
    std::getline(parts, path);
    const bool v2 = number == "0" && controllers.empty();
    if (!v2 && controllers != "memory") continue;
    const fs::path root = v2 ? kCgroups : kCgroups / "memory";
    const char* file = v2 ? "memory.events" : "memory.oom_control";
    for (const fs::path& folder : {root / fs::path(path).relative_path(), root}) {
      if (oom_kills(folder / file)) return folder / file;
    }
  }
  return {};
}

// silence() is called a few times a second. A longer gap means that this process itself did not run.
constexpr std::chrono::seconds kAbsence{2};

// Seconds after distributed.timeout. A collective that times out reports more than silence does, a moment later. If a
// rank waits in a collective, its report is awaited for longer.
constexpr double kAfterCollective = 0.5;
constexpr double kLongAfterCollective = 10;

// The time that the cause of a lost connection has to become known: another rank's timeout may be reported later.
// Another node reports it after it has asked gdb.
constexpr std::chrono::seconds kCausePatience{10};

// A run is stuck if nothing happens for so many times as long as a step takes, and for so many seconds.
constexpr double kStuckSteps = 10;
constexpr double kStuckSeconds = 5;
constexpr std::size_t kStepsKept = 32;

// Returns whether no running rank waits in a collective for another one. Then none will report a timeout. A stopped
// rank holds up the others also inside a collective that it has begun.
bool none_waits(record::SharedProgress& shared) {
  for (int waiting = 0; waiting < shared.ranks(); ++waiting) {
    if (shared.rank(waiting).stopped) continue;
    const std::int64_t begun = shared.rank(waiting).collectives;
    for (int r = 0; r < shared.ranks(); ++r) {
      const std::int64_t other = shared.rank(r).collectives;
      if (other < begun || (other == begun && shared.rank(r).stopped)) return false;
    }
  }
  return true;
}

// Finds the rank that blocks a group in which no rank makes progress: a stopped rank, else one that is behind, else the
// first.
Blame find_hung_rank(record::SharedProgress& shared, const std::vector<int>& ranks, double timeout) {
  const int culprit = culprits_of(shared, ranks).front();
  std::string what = "has done nothing for " + seconds(timeout) + " (distributed.timeout): it is " +
                     place_in_words(shared.rank(culprit));
  for (const int r : ranks) {
    if (r != culprit) what += "; nor has rank " + std::to_string(r) + ", " + place_in_words(shared.rank(r));
  }
  return {.failure = {.rank = culprit, .what = what, .log = ""}, .hanging = ranks};
}

}  // namespace

Blame find_late_rank(record::SharedProgress& shared, int waiting, double timeout) {
  const auto& waits = shared.rank(waiting);
  const std::string wait = "rank " + std::to_string(waiting) + " waited for " +
                           record::to_string(waits.collective.load()) + " in " + record::current_step(waits) +
                           " longer than " + seconds(timeout) + " (distributed.timeout)";
  std::vector<int> absent;
  for (int r = 0; r < shared.ranks(); ++r) {
    if (r != waiting && (shared.rank(r).collectives < waits.collectives || shared.rank(r).stopped)) absent.push_back(r);
  }
  const std::vector<int> late = culprits_of(shared, absent);
  std::string away;
  for (const int r : late) {
    const auto& rank = shared.rank(r);
    away += "; rank " + std::to_string(r) + " stays away: it is " + record::standing(rank) + stopped_in_words(rank);
  }
  if (late.empty())
    return {.failure = {.rank = waiting,
                        .what = wait + ", although every rank joined: is the network between them broken?",
                        .log = ""}};
  return {.failure = {.rank = late.front(), .what = wait + away, .log = ""}, .hanging = late};
}

void note_stopped(record::SharedProgress& shared, const RunningRanks& running) {
  for (const auto& [rank, pid] : running) shared.rank(rank).stopped = state_of(pid).stopped;
}

Verdict::Verdict(record::SharedProgress& shared, double timeout)
    : shared_(shared),
      timeout_(timeout),
      oom_file_(counting_file()),
      oom_kills_(oom_file_.empty() ? 0 : oom_kills(oom_file_).value_or(0)) {}

std::optional<Blame> Verdict::blame_ended(const std::vector<EndedRank>& ended, const RunningRanks& running) {
  // A rank that only lost another rank is an effect; the cause was killed, or failed by itself.
  const auto is_late = [&](const EndedRank& e) { return shared_.rank(e.rank).peer_late.load(); };
  const auto is_cause = [&](const EndedRank& e) { return !shared_.rank(e.rank).peer_lost && !is_late(e); };
  const auto cause = std::find_if(ended.begin(), ended.end(), is_cause);
  const auto late = std::find_if(ended.begin(), ended.end(), is_late);
  if (cause == ended.end() && late != ended.end()) {
    if (const auto suspected = suspicion_ ? suspicion_() : std::nullopt) {
      return Blame{.failure = {.rank = -1, .what = *suspected, .log = ""}};
    }
    note_stopped(shared_, running);
    return find_late_rank(shared_, late->rank, timeout_);
  }
  if (cause == ended.end()) {
    const auto now = Clock::now();
    if (!first_lost_) first_lost_ = now;
    const bool has_nodes = suspicion_ != nullptr;
    const bool others_may_know = has_nodes || !running.empty();
    if (others_may_know && now - *first_lost_ < kCausePatience + (has_nodes ? kStackPatience : 0s)) return {};
  }
  const EndedRank& culprit = cause == ended.end() ? ended.front() : *cause;
  // A crash of the program ends with another signal, or with RLIMIT_CPU's.
  const bool lost = WIFSIGNALED(culprit.status) && WTERMSIG(culprit.status) == SIGKILL &&
                    cpu_time_limit(SIGKILL, culprit.used).empty();
  return Blame{.failure = {.rank = culprit.rank, .what = describe(culprit), .log = culprit.log, .lost = lost}};
}

std::optional<Blame> Verdict::blame_silent(const RunningRanks& running) {
  const std::chrono::duration<double> quiet = silence(running);
  if (quiet.count() < timeout_ + kAfterCollective) return {};
  note_stopped(shared_, running);
  if (!none_waits(shared_) && quiet.count() < timeout_ + kLongAfterCollective) return {};
  std::vector<int> ranks;
  for (const auto& [rank, pid] : running) ranks.push_back(rank);
  return find_hung_rank(shared_, ranks, timeout_);
}

// Returns the time since the last activity of these ranks, even if no collective waits for them: a phase, a batch or a
// collective that began, or a piece that was saved; while a rank starts, any processor time.
Verdict::Clock::duration Verdict::silence(const RunningRanks& running) {
  std::int64_t signs = 0;
  for (const auto& [rank, pid] : running) {
    const auto& progress = shared_.rank(rank);
    signs += progress.activity + progress.collectives;
    // Building a dataset may take long, and has no steps.
    if (progress.phase == record::Phase::starting) signs += state_of(pid).processor_time;
  }
  const auto now = Clock::now();
  // If this process was stopped (^Z), most likely together with the ranks, that time does not count.
  const bool absent = now - std::exchange(asked_, now) > kAbsence;
  if (signs != std::exchange(signs_, signs) || absent) last_sign_ = now;
  return now - last_sign_;
}

std::optional<std::string> Verdict::stuck(const RunningRanks& running) {
  const auto now = Clock::now();
  const std::int64_t step = shared_.run().step, before = std::exchange(step_seen_, step);
  if (step > before && before >= 0) {
    // The time until the first new step is the start's.
    const auto since = std::exchange(step_seen_at_, now);
    const std::chrono::duration<double> passed = since ? now - *since : Clock::duration{};
    if (since) step_seconds_.push_back(passed.count() / static_cast<double>(step - before));
    if (step_seconds_.size() > kStepsKept) step_seconds_.pop_front();
  }
  if (step_seconds_.empty() || running.empty()) return {};
  std::vector<double> sorted(step_seconds_.begin(), step_seconds_.end());
  std::nth_element(sorted.begin(), sorted.begin() + static_cast<std::ptrdiff_t>(sorted.size() / 2), sorted.end());
  const double usual = sorted[sorted.size() / 2];
  if (std::chrono::duration<double>(now - last_sign_).count() < std::max(kStuckSteps * usual, kStuckSeconds)) return {};
  note_stopped(shared_, running);
  std::vector<int> ranks(static_cast<std::size_t>(shared_.ranks()));
  std::iota(ranks.begin(), ranks.end(), 0);
  const int culprit = culprits_of(shared_, ranks).front();
  return "rank " + std::to_string(culprit) + " is " + place_in_words(shared_.rank(culprit));
}

// Describes whether the kernel sent a rank's SIGKILL, with the evidence, or without any.
std::string Verdict::who_killed() const {
  if (oom_file_.empty()) return "; by the kernel's OOM killer? (no cgroup counts them here)";
  const std::int64_t now = oom_kills(oom_file_).value_or(oom_kills_);
  const std::string counter = "cgroup " + oom_file_.filename().string() + ": oom_kill ";
  if (now == oom_kills_)
    return ", not by the kernel for lack of memory (" + counter + "is still " + std::to_string(now) +
           "): another process killed it";
  return ", by the kernel's OOM killer (" + counter + "went from " + std::to_string(oom_kills_) + " to " +
         std::to_string(now) + ")";
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
    return killed + place + (signal == SIGKILL ? who_killed() : "");
  }
  return "exited with code " + std::to_string(WEXITSTATUS(ended.status)) + place;
}

}  // namespace ddp::launch
