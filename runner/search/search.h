#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <set>
#include <vector>

#include "config/registry.h"
#include "config/sweep.h"

namespace ddp::search {

// What a sweep varies, and how long a trial is.
struct Space {
  const std::vector<config::Parameter>& parameters;
  std::int64_t epochs = 0;  // of a whole trial; 0: it is given steps
};

// A trial that is to train next: from the start, or on from where it stopped.
struct Move {
  int trial = 0;
  std::int64_t epochs = 0;  // until so many are done; 0: to its end
};

// The epochs of a trial that has come to its end, which a rule of [stop] may have set before its last epoch.
inline constexpr std::int64_t kToItsEnd = INT64_MAX;

// Is there room for the trial now?
using Fits = std::function<bool(int trial)>;

// A search method: which trials there are, and which of them trains next. What it says follows from the space, from
// its options, and from what it was told, in that order: a sweep that goes on tells it again what its journal holds.
class Search {
 public:
  virtual ~Search() = default;

  virtual int trials() const = 0;
  // Does the end of one trial decide about no other? Then processes that do not know of each other can train them.
  virtual bool independent() const { return true; }
  // Are the values of the trial known, whatever the results of others will be?
  virtual bool decided(int) const { return true; }
  // The values of a trial: those that it has once it is decided; before that those that it would have now.
  virtual config::Point point(int trial) const = 0;
  // The number of the rung, from 1, that a trial is at after so many epochs; nothing of methods without rungs.
  virtual std::optional<int> rung_after(std::int64_t) const { return std::nullopt; }
  // What to train next, as far as is known: the first of them that fits. Nothing: none does, or the trials that train
  // now must end first, or all is done.
  virtual std::optional<Move> next(const Fits& fits) const = 0;

  // A journal says that the trial has begun with these values. What follows from results of others on this machine may
  // not follow from them on each one, to the last bit: a method that decides by them keeps these.
  virtual void recall(int, const config::Value&) {}
  // The move is made.
  virtual void begun(const Move& move) = 0;
  // The trial has done so many epochs, or all that it will do (kToItsEnd), and this is its metric: less is better. NaN:
  // it has reached no number.
  virtual void ended(int trial, std::int64_t epochs, double metric) = 0;
};

// Trials that begin one after the other, but for those that find no room yet.
class Queue {
 public:
  // The first that has not begun, of so many, and that fits.
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
  int done_ = 0;         // all before it have begun
  std::set<int> begun_;  // and these
};

// Every trial once, in their order, to its end.
class InOrder : public Search {
 public:
  std::optional<Move> next(const Fits& fits) const override {
    const auto trial = queue_.first(trials(), fits);
    return trial ? std::optional(Move{.trial = *trial}) : std::nullopt;
  }
  void begun(const Move& move) override { queue_.begun(move.trial); }
  void ended(int, std::int64_t, double) override {}

 private:
  Queue queue_;
};

// The values of trial `trial` drawn at random from the space: the same for the same seed.
config::Point draw(const Space& space, std::int64_t seed, int trial);

using Methods = config::Registry<std::unique_ptr<Search>, const Space&>;
// All methods: each registers itself, in a file of its own.
Methods& methods();

}  // namespace ddp::search
