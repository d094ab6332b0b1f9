#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <set>
#include <vector>

#include "config/load/sweep.h"
#include "config/registry.h"

namespace ddp::search {

// The parameters that a sweep varies, and the length of a trial.
struct Space {
  const std::vector<config::Parameter>& parameters;
  std::int64_t epochs = 0;  // of a whole trial; 0: its length is given in steps
};

// The trial to train next: from its start, or from where it paused.
struct NextTrial {
  int trial = 0;
  std::int64_t epochs = 0;  // train until this epoch; 0: to the end
};

// The epochs of a trial that has ended. A rule of [stop] may have ended it before its last epoch.
inline constexpr std::int64_t kToItsEnd = INT64_MAX;

// Returns whether the trial has room now.
using Fits = std::function<bool(int trial)>;

// A search method decides which trials exist and which of them trains next. Its answers are a function of the space, of
// its options, and of the calls it has received, in their order: a resumed sweep replays its journal.
class Search {
 public:
  virtual ~Search() = default;

  virtual int trials() const = 0;
  // Returns whether no trial's result affects another trial. Then independent processes can train them.
  virtual bool independent() const { return true; }
  // Returns whether the trial's values no longer depend on results of other trials.
  virtual bool decided(int) const { return true; }
  // The values of a trial: final once it is decided; before that, the values it would get now.
  virtual config::Point point(int trial) const = 0;
  // Returns the trial's rung after this many epochs, from 1; nothing for methods without rungs.
  virtual std::optional<int> rung_after(std::int64_t) const { return std::nullopt; }
  // Returns the next trial: the first one that fits. Nothing: none fits, or running trials must end first, or all are
  // done.
  virtual std::optional<NextTrial> next(const Fits& fits) const = 0;

  // Restores a trial that a journal says has begun with these values. A method that computes values from results must
  // keep these, because floating point may differ in the last bit between machines.
  virtual void recall(int, const config::Value&) {}
  // The trial has begun, or continues.
  virtual void begun(const NextTrial& next) = 0;
  // The trial has trained this many epochs, or to its end (kToItsEnd), with this metric: less is better. NaN: the trial
  // reached no finite number.
  virtual void ended(int trial, std::int64_t epochs, double metric) = 0;
};

// Trials that begin in their order, except for trials that have no room yet.
class Queue {
 public:
  // Returns the first of `trials` trials that has not begun and that fits.
  std::optional<int> first(int trials, const Fits& fits) const {
    for (int trial = done_; trial < trials; ++trial) {
      if (!begun_.contains(trial) && fits(trial)) return trial;
    }
    return std::nullopt;
  }
  void begun(int trial) {
    begun_.insert(trial);
    while (begun_.erase(done_) > 0) ++done_;
  }

 private:
  int done_ = 0;         // all trials below it have begun
  std::set<int> begun_;  // and these
};

// Every trial once, in order, to its end.
class InOrder : public Search {
 public:
  std::optional<NextTrial> next(const Fits& fits) const override {
    const auto trial = queue_.first(trials(), fits);
    return trial ? std::optional(NextTrial{.trial = *trial}) : std::nullopt;
  }
  void begun(const NextTrial& next) override { queue_.begun(next.trial); }
  void ended(int, std::int64_t, double) override {}

 private:
  Queue queue_;
};

// The options of a method that draws values.
struct DrawOptions {
  std::int64_t trials = 0;
  std::int64_t seed = 0;

  void fields(config::Fields& f) {
    f({.name = "trials",
       .doc = "number of trials",
       .aliases = {"n_trials", "num_samples"},
       .range = config::between(1, 100000)},
      trials);
    f({.name = "seed", .doc = "seed of the drawn values", .range = config::at_least(0)}, seed);
  }
};

// Draws the values of a trial at random from the space. The same seed gives the same values.
config::Point draw(const Space& space, std::int64_t seed, int trial);

using Methods = config::Registry<std::unique_ptr<Search>, const Space&>;
// All methods. Each registers itself, in its own file.
Methods& methods();

}  // namespace ddp::search
