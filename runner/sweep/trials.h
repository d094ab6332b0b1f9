#pragma once

#include <optional>
#include <string>
#include <vector>

#include "config/sweep.h"
#include "search/search.h"
#include "sweep/journal.h"

namespace ddp::sweep {

enum class Status {
  waiting,  // has not begun
  running,
  paused,  // at a rung: it goes on later, or never
  completed,
  failed,
  interrupted,  // goes on when the sweep does
};

// What is known of a trial.
struct Trial {
  int number = 0;
  Status status = Status::waiting;
  std::int64_t until_epoch = 0;  // of its last start
  int failures = 0;
  std::int64_t epochs = 0;
  std::optional<double> metric = {};
  double seconds = 0;
  std::string stopped_by = {};  // completed: the rule of [stop] that ended it before its last step; empty: none did
  std::string error = {};
};

// All trials of a sweep, as the events tell of them.
class Trials {
 public:
  // A sweep of so many trials that has not begun. All that it is given outlives it.
  Trials(const config::Sweep& sweep, search::Search& search);

  // Takes the event, and tells the search. Throws ddp::Error (usage) where it does not fit the sweep.
  void take(const Event& event);

  // Forgets all, for what those of the same sweep know.
  void replace(const Trials& other) { all_ = other.all_; }

  const std::vector<Trial>& all() const { return all_; }
  const Trial& at(int trial) const { return all_.at(trial); }
  int count(Status status) const;
  // The rung, from 1, that the trial is at or went on from; nothing where there is none.
  std::optional<int> rung(const Trial& trial) const { return search_.rung_after(trial.epochs); }
  // {"optimizer.lr": 0.1}
  config::Value parameters(int trial) const { return sweep_.named(search_.point(trial)); }

  // The same; {} where results of other trials are yet to decide.
  config::Value decided_parameters(int trial) const;

  // Best first: those at their end, then those that stopped, the longest first; without a metric last. A trial that a
  // rule of [stop] ended counts as one that stopped where a paused one is better that trained as long or longer.
  std::vector<const Trial*> ranking() const;
  // The best one that has a metric; null: none has.
  const Trial* best() const;

 private:
  void check_number(const Event& event) const;
  void check_parameters(const Event& event) const;
  double cost(const Trial& trial) const { return sweep_.metric.cost(*trial.metric); }
  bool ranks_at_end(const Trial& trial) const;

  const config::Sweep& sweep_;
  search::Search& search_;
  std::vector<Trial> all_;
};

// "optimizer.lr 0.1, batch_size 32"
std::string in_words(const config::Value& parameters);

}  // namespace ddp::sweep
