#include <algorithm>
#include <cmath>
#include <map>
#include <set>

#include "search/search.h"

namespace ddp::search {
namespace {

struct AshaOptions : DrawOptions {
  AshaOptions() : DrawOptions{.trials = 20} {}

  std::int64_t min_epochs = 1;
  std::optional<std::int64_t> max_epochs;
  std::int64_t reduction_factor = 4;
  void fields(config::Fields& f) {
    DrawOptions::fields(f);
    f({.name = "min_epochs", .doc = "epochs that every trial trains", .range = config::between(1, 1e9)}, min_epochs);
    f({.name = "max_epochs",
       .doc = "epochs that the best trials train; default: epochs",
       .range = config::between(1, 1e9)},
      max_epochs);
    f({.name = "reduction_factor",
       .doc = "1 of this many trials continues to the next rung, which has this many times the epochs",
       .range = config::between(2, 1000)},
      reduction_factor);
  }
};

// Asynchronous successive halving (Li et al., A System for Massively Parallel Hyperparameter Tuning, 2018; their
// algorithm 2): rung k is min_epochs x reduction_factor^k epochs. Whenever a trial can train, a trial among the best
// 1/reduction_factor of its rung continues to the next rung, the highest rung first; if no rung has such a trial, a new
// trial begins. No trial waits for a rung to fill.
class Asha : public Search {
 public:
  Asha(const AshaOptions& options, const Space& space) : o_(options), space_(space) {
    if (space.epochs == 0) {
      throw usage_error("asha stops trials after epochs, and this experiment has steps", "sweep.method",
                        "give epochs in place of steps, or use method = \"random\"");
    }
    for (const auto& parameter : space.parameters) {
      if (parameter.key != "epochs" && parameter.key != "steps") continue;
      throw usage_error("asha decides how long a trial trains: " + parameter.key + " cannot vary",
                        config::where(parameter.place), "use method = \"random\", or max_epochs");
    }
    if (o_.min_epochs > space.epochs) {
      throw usage_error("min_epochs is more than the " + std::to_string(space.epochs) + " epochs of a whole trial",
                        "sweep.min_epochs",
                        "give min_epochs = 1, or at most " + std::to_string(space.epochs) + "; or more epochs");
    }
    std::int64_t epochs = o_.min_epochs;
    for (; epochs < space.epochs; epochs *= o_.reduction_factor) rungs_.push_back({.epochs = epochs});
    rungs_.push_back({.epochs = space.epochs});
  }

  int trials() const override { return static_cast<int>(o_.trials); }
  bool independent() const override { return false; }
  config::Point point(int trial) const override { return draw(space_, o_.seed, trial); }

  std::optional<int> rung_after(std::int64_t epochs) const override {
    for (std::size_t k = 0; k < rungs_.size(); ++k) {
      if (rungs_[k].epochs == epochs) return static_cast<int>(k) + 1;
    }
    return std::nullopt;
  }

  std::optional<NextTrial> next(const Fits& fits) const override {
    for (std::size_t k = rungs_.size() - 1; k-- > 0;) {
      if (const auto trial = promotable(k, fits)) return NextTrial{.trial = *trial, .epochs = epochs_of(k + 1)};
    }
    const auto trial = queue_.first(trials(), fits);
    return trial ? std::optional(NextTrial{.trial = *trial, .epochs = epochs_of(0)}) : std::nullopt;
  }

  void begun(const NextTrial& next) override {
    queue_.begun(next.trial);
    rungs_[rung_of(next.epochs)].begun.insert(next.trial);
  }

  void ended(int trial, std::int64_t epochs, double metric) override {
    if (std::isnan(metric)) return;
    for (Rung& rung : rungs_) {
      if (rung.epochs <= epochs) rung.metrics.try_emplace(trial, metric);
      // The trial cannot continue, but trials that do are compared with it.
      if (epochs == kToItsEnd) rung.begun.insert(trial);
    }
  }

 private:
  struct Rung {
    std::int64_t epochs = 0;
    std::set<int> begun = {};            // trials that train towards it
    std::map<int, double> metrics = {};  // of trials that reached it
  };

  // The last rung is the trial's end: 0.
  std::int64_t epochs_of(std::size_t rung) const { return rung + 1 == rungs_.size() ? 0 : rungs_[rung].epochs; }
  std::size_t rung_of(std::int64_t epochs) const {
    const auto found = std::find_if(rungs_.begin(), rungs_.end(), [&](const Rung& r) { return r.epochs == epochs; });
    return found == rungs_.end() ? rungs_.size() - 1 : static_cast<std::size_t>(found - rungs_.begin());
  }

  // Returns the best trial in the rung's best 1/reduction_factor that has not continued yet.
  std::optional<int> promotable(std::size_t rung, const Fits& fits) const {
    std::vector<std::pair<double, int>> best;
    for (const auto& [trial, metric] : rungs_[rung].metrics) best.emplace_back(metric, trial);
    std::sort(best.begin(), best.end());
    best.resize(best.size() / static_cast<std::size_t>(o_.reduction_factor));
    for (const auto& [metric, trial] : best) {
      if (!rungs_[rung + 1].begun.contains(trial) && fits(trial)) return trial;
    }
    return std::nullopt;
  }

  const AshaOptions o_;
  const Space space_;
  std::vector<Rung> rungs_;
  Queue queue_;
};

const bool asha_registered = methods().add<AshaOptions>(
    "asha", "asynchronous successive halving: all trials train a little, the best continue",
    [](const AshaOptions& o, const Space& space) { return std::make_unique<Asha>(o, space); },
    /*traits=*/{{"epochs", "max_epochs"}});

}  // namespace
}  // namespace ddp::search
