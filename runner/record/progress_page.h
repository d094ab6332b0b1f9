#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <string>

#include "record/metrics/metric_values.h"

namespace ddp::record {

// What a rank is doing; the parent shows it, and names it when the rank dies or hangs.
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
const char* to_string(Phase phase);

// What ranks do together. Who waits in one for too long tells by it which rank stays away.
enum class Collective : std::int32_t {
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
const char* to_string(Collective collective);

// One step's loss of one rank, before it is averaged over ranks.
struct LossEntry {
  std::atomic<std::int64_t> step{0};  // written last: the entry is of this step once it says so
  double loss_sum = 0;                // sum over samples, or over targets that count
  double loss_weight = 0;             // how much counts in it
  std::int64_t samples = 0;
};

// How many steps of losses a rank's ring holds. Ranks are never more than one step apart (each step ends in
// an all-reduce), so a few are plenty.
constexpr std::size_t kLossRing = 8;
inline constexpr std::size_t loss_place(std::int64_t step) { return static_cast<std::size_t>(step) % kLossRing; }

// One rank's part of the page; written by that rank alone, on cache lines of its own.
struct alignas(64) RankProgress {
  std::atomic<Phase> phase{Phase::starting};
  std::atomic<std::int64_t> step{0};         // optimizer steps, or measurements, done
  std::atomic<std::int64_t> collectives{0};  // begun so far; every rank begins the same ones, in the same order
  std::atomic<Collective> collective{Collective::none};  // the one that was begun last
  std::atomic<bool> stopped{false};                      // by SIGSTOP or a debugger, as its parent saw it last
  std::atomic<std::int64_t> activity{0};                 // counts on while the rank does something, on any thread
  LossEntry losses[kLossRing];
  std::atomic<bool> failed{false};     // `error` is whole
  std::atomic<bool> peer_lost{false};  // the failure is that another rank went away
  std::atomic<bool> peer_late{false};  // the failure is that another rank stayed away for too long
  std::atomic<bool> hopeless{false};   // the failure would come again: to start the ranks again is of no use
  char error[2000] = {};

  void note_activity() { activity.fetch_add(1, std::memory_order_relaxed); }

  // This rank begins a collective.
  void begin(Collective what) {
    collective.store(what, std::memory_order_relaxed);
    collectives.fetch_add(1, std::memory_order_relaxed);
  }
};

// Where a rank stands: "after step 3, in backward"; of those that measure the network, "in measurement 4". And what it
// is at: "step 4".
std::string standing(const RankProgress& rank);
std::string current_step(const RankProgress& rank);

// Metrics by name, in shared memory: one process at a time adds to it, and others read meanwhile, without a lock.
class MetricTable {
 public:
  static constexpr std::size_t kMost = 64;
  static constexpr std::size_t kLongestName = 63;

  // A metric that does not fit, by its number or the length of its name, is in metrics.jsonl alone.
  void set(const std::string& name, double value);
  // In the order in which they came.
  MetricValues values() const;

 private:
  struct Entry {
    char name[kLongestName + 1] = {};
    std::atomic<double> value{0};
  };
  std::atomic<std::size_t> count_{0};  // entries before it are whole
  Entry entries_[kMost];
};

// What rank 0 tells the parent for the live line and summary.json.
struct alignas(64) RunProgress {
  std::atomic<std::int64_t> epoch{0};
  std::atomic<std::int64_t> step{0};
  std::atomic<std::int64_t> steps_in_all{0};
  std::atomic<std::int64_t> epochs_done{0};
  std::atomic<std::int64_t> parameters{0};  // numbers of the model; 0: no rank has built it yet
  std::atomic<std::int64_t> frozen_parameters{0};
  std::atomic<bool> ended{false};  // trained to its end, whether that is its last step or a rule's
  char stopped_by[16] = {};        // the rule, once `ended` says so; empty: the last step
  std::atomic<double> loss{0};
  std::atomic<std::int64_t> samples{0};  // of this process's steps, all ranks
  std::atomic<double> seconds{0};
  MetricTable metrics;       // the newest of each
  std::atomic<double> best;  // of the metric that checkpoints are judged by; NaN: there is none yet
  std::atomic<std::int64_t> best_step{0};

  // `rule`: which has ended the run; empty: none.
  void end(const std::string& rule, bool has_ended) {
    rule.copy(stopped_by, sizeof stopped_by - 1);
    ended = has_ended;
  }
};

// The memory that a group's ranks and their parent share: anonymous, made by the parent just before the
// forks. It carries progress, losses (so that averaging them needs no collective) and the agreed stop.
class ProgressPage {
 public:
  // Maps zeroed shared memory for that many ranks. Throws ddp::Error.
  explicit ProgressPage(int ranks);
  ~ProgressPage();
  ProgressPage(const ProgressPage&) = delete;
  ProgressPage& operator=(const ProgressPage&) = delete;

  int ranks() const { return ranks_; }
  RunProgress& run() { return header_->run; }
  RankProgress& rank(int r) { return rank_[r]; }

  // The parent asks for a stop. Rank 0 answers, at the end of a step, with the step after which all ranks
  // stop: no rank has finished that step yet, since its all-reduce needs rank 0.
  std::atomic<bool>& stop_requested() { return header_->stop_requested; }
  std::atomic<std::int64_t>& stop_after_step() { return header_->stop_after_step; }

  // Likewise the step after which all ranks save because rank 0's clock says so; a step that has passed means nothing.
  std::atomic<std::int64_t>& save_after_step() { return header_->save_after_step; }
  // And the step after which the run ends because rank 0's clock says so.
  std::atomic<std::int64_t>& end_after_step() { return header_->end_after_step; }

  // A rank whose loss of a step is not finite notes the step there, before the all-reduce that ends it.
  std::atomic<std::int64_t>& not_finite(std::int64_t step) { return header_->not_finite[loss_place(step)]; }

 private:
  struct Header {
    RunProgress run;
    alignas(64) std::atomic<bool> stop_requested{false};
    std::atomic<std::int64_t> stop_after_step{0};  // 0: go on
    std::atomic<std::int64_t> save_after_step{0};
    std::atomic<std::int64_t> end_after_step{0};
    std::atomic<std::int64_t> not_finite[kLossRing] = {};
  };
  int ranks_;
  std::size_t bytes_;
  Header* header_;
  RankProgress* rank_;
};

}  // namespace ddp::record
