#pragma once

#include <optional>
#include <string>
#include <vector>

#include "config/load/sweep.h"
#include "search/search.h"
#include "sweep/journal.h"

namespace ddp::sweep {

enum class Status {
  waiting,  // has not begun
  running,
  paused,  // at a rung: may continue later
  completed,
  failed,
  interrupted,  // continues when the sweep is resumed
};

// The known state of a trial.
struct Trial {
  int number = 0;
  Status status = Status::waiting;
  std::int64_t until_epoch = 0;  // of its last start
  int failures = 0;
  std::int64_t epochs = 0;
  std::optional<double> metric = {};
  double seconds = 0;
  std::string stopped_by = {};  // completed: rule of [stop] that ended the trial before its last step; empty: none
  std::string error = {};
};

// All trials of a sweep, as its events describe them.
class Trials {
 public:
  // A sweep that has not begun. Both arguments must outlive this object.
  Trials(const config::Sweep& sweep, search::Search& search);

  // Applies the event, and passes it to the search. Throws ddp::Error (usage) if it does not fit the sweep.
  void take(const Event& event);

  // Replaces all trials by another object's, of the same sweep.
  void replace(const Trials& other) { all_ = other.all_; }

  const std::vector<Trial>& all() const { return all_; }
  const Trial& at(int trial) const { return all_.at(trial); }
  int count(Status status) const;
  // Returns the trial's rung, from 1, or the rung that it left; nothing if there is none.
  std::optional<int> rung(const Trial& trial) const { return search_.rung_after(trial.epochs); }
  // {"optimizer.lr": 0.1}
  config::Value parameters(int trial) const { return sweep_.named(search_.point(trial)); }

  // The same; {} if results of other trials will still decide them.
  config::Value decided_parameters(int trial) const;

  std::vector<const Trial*> in_order() const;
  // Returns the trials by the metric of their best checkpoints, best first; trials without a metric last.
  std::vector<const Trial*> ranking() const;
  // Returns the best trial that has a metric; null if none has.
  const Trial* best() const;

 private:
  void check_number(const Event& event) const;
  void check_parameters(const Event& event) const;
  double cost(const Trial& trial) const { return sweep_.metric.cost(*trial.metric); }

  const config::Sweep& sweep_;
  search::Search& search_;
  std::vector<Trial> all_;
};

// "optimizer.lr 0.1, batch_size 32"
std::string in_words(const config::Value& parameters);

}  // namespace ddp::sweep
