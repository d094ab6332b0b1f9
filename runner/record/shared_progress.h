#pragma once

#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <string>

#include "base/shared_memory.h"
#include "record/metrics/metric_values.h"

namespace ddp::record {

// A rank's current activity. The parent shows it, and names it if the rank dies or hangs.
enum class Phase : std::int32_t {
  starting,
  loading,
  forward,
  backward,
  optimizer,
  validating,
  saving,
  measuring,
  finished
};
constexpr std::size_t kPhases = static_cast<std::size_t>(Phase::finished) + 1;
const char* to_string(Phase phase);

// A collective of all ranks. A rank that waits too long in one uses it to find the rank that stays away.
enum class CollectiveKind : std::int32_t {
  none,
  joining,
  all_reduce,
  broadcast,
  all_gather,
  reduce,
  gather,
  scatter,
  barrier
};
const char* to_string(CollectiveKind collective);

// The most scalars that may come with a loss.
constexpr std::size_t kMostScalars = 16;

// The loss of one rank in one step, before the average over ranks.
struct LossEntry {
  static constexpr std::int64_t kNone = -1;

  std::atomic<std::int64_t> step{0};  // written last: once it has this step, the entry is complete
  double loss_sum = 0;                // sum over samples, or over the targets that count
  double loss_weight = 0;             // divisor of the sum: the weight of its samples or targets
  std::int64_t samples = 0;
  std::size_t scalars = 0;  // their number
  double scalar_sums[kMostScalars] = {};
  std::atomic<std::int64_t> bad_gradient{kNone};  // index of the first parameter whose gradient is not finite
};

// The number of steps in a rank's ring of losses. Ranks are never more than one step apart, since each step ends in an
// all-reduce, so a few entries suffice.
constexpr std::size_t kLossRing = 8;
inline constexpr std::size_t loss_place(std::int64_t step) { return static_cast<std::size_t>(step) % kLossRing; }

// One rank's part of the shared progress. Only that rank writes it; it has its own cache lines.
struct alignas(64) RankProgress {
  std::atomic<Phase> phase{Phase::starting};
  std::atomic<std::int64_t> step{0};         // number of finished optimizer steps, or measurements
  std::atomic<std::int64_t> collectives{0};  // number begun so far; every rank begins the same ones in the same order
  std::atomic<CollectiveKind> collective{CollectiveKind::none};  // the last one that was begun
  std::atomic<bool> stopped{false};                              // by SIGSTOP or a debugger, as the parent saw it last
  std::atomic<std::int64_t> activity{0};                         // grows while the rank does something, on any thread
  // Seconds of this process in each phase. In the phases of a step, the waits for other ranks stand apart.
  std::atomic<double> seconds_in[kPhases] = {};
  std::atomic<double> seconds_waiting_for_ranks{0};
  // Of a stream of URLs, as of the last step: the bytes that this process fetched, and the attempts after the first one
  // of a request.
  std::atomic<std::int64_t> fetched_bytes{0};
  std::atomic<std::int64_t> retries{0};
  LossEntry losses[kLossRing];
  std::atomic<std::int64_t> not_finite_rows{0};  // predicted rows whose outputs hold NaN or inf
  std::atomic<bool> failed{false};               // `error` is complete
  std::atomic<bool> peer_lost{false};            // the cause is that another rank went away
  std::atomic<bool> peer_late{false};            // the cause is that another rank stayed away for too long
  std::atomic<bool> begun{false};                // the run directory is open; without a parent
  std::atomic<bool> interrupted{false};  // it ended before the run's last step, because the run was asked to stop
  std::atomic<bool> no_restart{false};   // the failure would repeat: a restart of the ranks cannot help
  std::atomic<bool> no_data{false};      // the data of the first step did not come
  char error[2000] = {};

  void note_activity() { activity.fetch_add(1, std::memory_order_relaxed); }
  // Notes what this rank does from now on.
  void enter(Phase next);
  double seconds(Phase of) const { return seconds_in[static_cast<std::size_t>(of)].load(std::memory_order_relaxed); }

  // Notes that this rank begins a collective.
  void begin(CollectiveKind what) {
    collective.store(what, std::memory_order_relaxed);
    collectives.fetch_add(1, std::memory_order_relaxed);
  }
  // Notes that a sum over the ranks has begun which this call does not wait for. Once the last sum of a phase has
  // begun, the rank only waits for it.
  void sum_begins();
  // Notes that this rank waited for another one, within its current phase.
  void waited(double seconds) {
    waited_.store(waited_.load(std::memory_order_relaxed) + seconds, std::memory_order_relaxed);
  }

  using Clock = std::chrono::steady_clock;
  static double seconds_since(Clock::time_point then) {
    return std::chrono::duration<double>(Clock::now() - then).count();
  }

 private:
  Clock::time_point entered_ = Clock::now();  // the current phase
  Clock::time_point summing_since_{};         // the last sum of this phase; zero: none has begun
  double waited_before_sum_ = 0;
  std::atomic<double> waited_{0};  // seconds of the current phase
};

// Notes the time of a scope in which this rank waits for another one.
class RankWait {
 public:
  explicit RankWait(RankProgress& rank) : rank_(rank) {}
  RankWait(const RankWait&) = delete;
  RankWait& operator=(const RankWait&) = delete;
  ~RankWait() { rank_.waited(RankProgress::seconds_since(began_)); }

 private:
  RankProgress& rank_;
  const RankProgress::Clock::time_point began_ = RankProgress::Clock::now();
};

// The position of a rank: "after step 3, in backward", or "in measurement 4" if it measures the network.
// current_step(): "step 4", or "measurement 4".
std::string standing(const RankProgress& rank);
std::string current_step(const RankProgress& rank);

// Metrics by name in shared memory: one process at a time writes, others read meanwhile without a lock.
class MetricTable {
 public:
  static constexpr std::size_t kMost = 64;
  static constexpr std::size_t kLongestName = 63;

  // Leaves out a new metric if the table is full or the name is too long: only metrics.jsonl has it then.
  void set(const std::string& name, double value);
  // Returns the metrics in the order of their first set().
  MetricValues values() const;

 private:
  struct Entry {
    char name[kLongestName + 1] = {};
    std::atomic<double> value{0};
  };
  std::atomic<std::size_t> count_{0};  // the entries before it are complete
  Entry entries_[kMost];
};

// Rank 0's report to the parent, for the live line and summary.json.
struct alignas(64) RunProgress {
  std::atomic<std::int64_t> epoch{0};
  std::atomic<std::int64_t> step{0};
  std::atomic<std::int64_t> steps_in_all{0};
  std::atomic<std::int64_t> skipped_steps{0};  // left out because a loss or a gradient was not finite
  std::atomic<std::int64_t> epochs_done{0};
  std::atomic<std::int64_t> parameters{0};  // number of the model's parameters; 0: no rank has built it yet
  std::atomic<std::int64_t> frozen_parameters{0};
  char held_out[24] = {};                       // hash of the rows that are measured; empty: none, or not known yet
  std::atomic<bool> ended{false};               // training is over, by its last step or by a rule
  char stopped_by[16] = {};                     // the rule, valid once `ended` is true; empty: the last step
  std::atomic<std::int64_t> replayed_steps{0};  // of this process, as the next five
  std::atomic<std::int64_t> eager_steps{0};
  std::atomic<std::int64_t> calls_of_step{0};      // of a replayed micro-batch
  std::atomic<std::int64_t> own_calls{0};          // of them, those with a kernel of ours
  std::atomic<std::int64_t> unused_parameters{0};  // of the model, to which it gives no gradient
  std::atomic<bool> never_replays{false};
  char why_eager[192] = {};  // valid once `never_replays` is true
  std::atomic<bool> never_replays_forwards{false};
  char why_eager_forwards[192] = {};        // of evaluations, valid once `never_replays_forwards` is true
  std::atomic<bool> divides_update{false};  // each rank updates a share of the parameters
  std::atomic<double> loss{0};
  std::atomic<std::int64_t> samples{0};  // of this process's steps, on all ranks
  std::atomic<double> seconds{0};
  std::atomic<double> seconds_before{0};              // of these, of earlier processes
  std::atomic<double> paused{0};                      // of these, seconds of this process's validations and saves
  std::atomic<double> validation_seconds{0};          // of the last validation; 0: none yet
  std::atomic<std::int64_t> steps_per_validation{0};  // 0: the run has no validation
  std::atomic<std::int64_t> batches_measured{0};      // of the validation or test that runs, on all ranks
  std::atomic<std::int64_t> batches_to_measure{0};    // 0: none runs
  MetricTable metrics;                                // the newest value of each
  std::atomic<std::int64_t> test_epoch{0};            // of the weights that the test measured, as the step
  std::atomic<std::int64_t> test_step{0};

  void note_held_out(const std::string& hash) { hash.copy(held_out, sizeof held_out - 1); }
  // Notes that no further step is replayed, and why.
  void stop_replaying(const std::string& reason) {
    reason.copy(why_eager, sizeof why_eager - 1);
    never_replays = true;
  }
  // The same of the forwards of evaluations. Returns true the first time.
  bool stop_replaying_forwards(const std::string& reason) {
    if (never_replays_forwards) return false;
    reason.copy(why_eager_forwards, sizeof why_eager_forwards - 1);
    return never_replays_forwards = true;
  }

  // `rule`: the rule that ended the run; empty: none.
  void end(const std::string& rule, bool has_ended) {
    rule.copy(stopped_by, sizeof stopped_by - 1);
    ended = has_ended;
  }
};

// Shared memory of a group's ranks and their parent: anonymous, mapped by the parent just before the forks. It carries
// progress, losses (their average then needs no collective) and the agreed stop.
class SharedProgress {
 public:
  // Maps zeroed shared memory for this number of ranks. Throws ddp::Error.
  explicit SharedProgress(int ranks);
  SharedProgress(const SharedProgress&) = delete;
  SharedProgress& operator=(const SharedProgress&) = delete;

  int ranks() const { return ranks_; }
  RunProgress& run() { return header_->run; }
  RankProgress& rank(int r) { return rank_[r]; }

  // The parent requests a stop. At the end of a step rank 0 answers with the step after which all ranks stop. No rank
  // has finished that step yet, since its all-reduce needs rank 0.
  std::atomic<bool>& stop_requested() { return header_->stop_requested; }
  std::atomic<std::int64_t>& stop_after_step() { return header_->stop_after_step; }
  // For ranks without a parent: the signal that requested the stop, of this rank or of another one; 0: none.
  std::atomic<int>& stop_signal() { return header_->stop_signal; }

  // The same for a save that rank 0's clock requests: the step after which all ranks save. A past step has no effect.
  std::atomic<std::int64_t>& save_after_step() { return header_->save_after_step; }
  // The same for the end of the run by rank 0's clock: the step after which the run ends.
  std::atomic<std::int64_t>& end_after_step() { return header_->end_after_step; }

  // If a rank's loss or gradient of a step is not finite, the rank stores the step here before the all-reduce that ends
  // the step.
  std::atomic<std::int64_t>& not_finite(std::int64_t step) { return header_->not_finite[loss_place(step)]; }

 private:
  struct Header {
    RunProgress run;
    alignas(64) std::atomic<bool> stop_requested{false};
    std::atomic<std::int64_t> stop_after_step{0};  // 0: no stop
    std::atomic<int> stop_signal{0};
    std::atomic<std::int64_t> save_after_step{0};
    std::atomic<std::int64_t> end_after_step{0};
    std::atomic<std::int64_t> not_finite[kLossRing] = {};
  };
  const int ranks_;
  const SharedMapping memory_;
  Header* const header_;
  RankProgress* const rank_;
};

}  // namespace ddp::record
