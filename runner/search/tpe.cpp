#include <algorithm>
#include <cmath>
#include <limits>
#include <map>

#include "search/parzen.h"
#include "search/search.h"

namespace ddp::search {
namespace {

constexpr std::size_t kRandomTrials = 10;
constexpr std::size_t kMostGood = 25;
// Twice Optuna's number: with several parameters the best of 24 is often not near the densest place.
constexpr int kCandidates = 48;

struct TpeOptions : DrawOptions {
  TpeOptions() : DrawOptions{.trials = 60} {}
};

Axis axis_of(const config::Parameter& p) {
  if (!p.is_range()) return {.choices = static_cast<std::int64_t>(p.choices.size())};
  if (p.step > 0) {
    const double steps = std::floor((p.max - p.min) / p.step + 1e-9);
    return {.low = p.min, .high = p.min + steps * p.step, .step = p.step};
  }
  if (p.integer) return {.low = std::ceil(p.min), .high = std::floor(p.max), .step = 1, .log = p.log};
  return {.low = p.min, .high = p.max, .log = p.log};
}

// The tree-structured Parzen estimator (Bergstra et al., Algorithms for Hyper-Parameter Optimization, 2011) with the
// defaults of Optuna 5's TPESampler. Once ten trials have a metric, candidates are drawn from a density of the best
// tenth of the trials; a new trial takes the candidate with the largest ratio of that density to the density of the
// other trials. All parameters are chosen together. Running trials and failed trials count on neither side.
class Tpe : public InOrder {
 public:
  Tpe(const TpeOptions& options, const Space& space) : o_(options), space_(space) {
    for (const auto& parameter : space.parameters) axes_.push_back(axis_of(parameter));
    // The placement of concurrent trials is planned before any trial begins.
    for (const auto& parameter : space.parameters) {
      const std::string& key = parameter.key;
      if (key != "device_pool" && key != "devices_per_rank" && key != "threads") continue;
      throw usage_error("tpe decides the values of a trial when it begins, but " + key + " must be known before",
                        config::where(parameter.place), "give one " + key + ", or use method = \"random\"");
    }
  }

  int trials() const override { return static_cast<int>(o_.trials); }
  bool independent() const override { return false; }
  // Fewer than ten others end before one of the first ten trials begins, so its values are drawn at random.
  bool decided(int trial) const override { return known_.contains(trial) || trial < static_cast<int>(kRandomTrials); }

  config::Point point(int trial) const override {
    const auto known = known_.find(trial);
    if (known == known_.end() && costs_.size() < kRandomTrials) return draw(space_, o_.seed, trial);
    const Coordinates numbers = known == known_.end() ? chosen(trial) : known->second;
    config::Point point;
    for (std::size_t i = 0; i < numbers.size(); ++i) point.push_back(space_.parameters[i].value(numbers[i]));
    return point;
  }

  void recall(int trial, const config::Value& values) override {
    Coordinates numbers;
    for (const auto& parameter : space_.parameters) {
      const auto number = values.contains(parameter.key) ? parameter.number_of(values[parameter.key]) : std::nullopt;
      if (!number) return;
      numbers.push_back(*number);
    }
    known_.try_emplace(trial, std::move(numbers));
  }

  void begun(const NextTrial& next) override {
    InOrder::begun(next);
    if (known_.contains(next.trial)) return;
    const config::Point values = point(next.trial);
    Coordinates numbers;
    for (std::size_t i = 0; i < values.size(); ++i) {
      numbers.push_back(space_.parameters[i].number_of(config::to_value(values[i])).value());
    }
    known_.emplace(next.trial, std::move(numbers));
  }

  void ended(int trial, std::int64_t, double metric) override {
    costs_[trial] = std::isnan(metric) ? std::numeric_limits<double>::infinity() : metric;
  }

 private:
  // The values of the best tenth and of the other trials, the oldest first.
  struct Split {
    std::vector<Coordinates> good;
    std::vector<Coordinates> others;
  };
  Split split() const {
    std::vector<std::pair<double, int>> ranked;
    for (const auto& [trial, cost] : costs_) ranked.emplace_back(cost, trial);
    std::sort(ranked.begin(), ranked.end());
    const std::size_t good = std::min((ranked.size() + 9) / 10, kMostGood);
    const std::pair<double, int> last = ranked[good - 1];
    Split split;
    for (const auto& [trial, cost] : costs_) {
      (std::pair(cost, trial) <= last ? split.good : split.others).push_back(known_.at(trial));
    }
    return split;
  }

  Coordinates chosen(int trial) const {
    // A seed other than draw() uses.
    std::seed_seq seeds{static_cast<std::uint32_t>(o_.seed), static_cast<std::uint32_t>(o_.seed >> 32),
                        static_cast<std::uint32_t>(trial), std::uint32_t{1}};
    std::mt19937_64 engine(seeds);
    const Split known = split();
    const Parzen good(axes_, known.good);
    const Parzen others(axes_, known.others);
    Coordinates best;
    double most = 0;
    for (int i = 0; i < kCandidates; ++i) {
      Coordinates candidate = good.sample(engine);
      const double gain = good.log_density(candidate) - others.log_density(candidate);
      if (!best.empty() && !(gain > most)) continue;
      best = std::move(candidate);
      most = gain;
    }
    return best;
  }

  const TpeOptions o_;
  const Space space_;
  std::vector<Axis> axes_;
  std::map<int, Coordinates> known_;  // of trials that have begun
  std::map<int, double> costs_;       // of trials that have ended with a metric
};

const bool tpe_registered =
    methods().add<TpeOptions>("tpe", "values near the best trials so far: the tree-structured Parzen estimator",
                              [](const TpeOptions& o, const Space& space) { return std::make_unique<Tpe>(o, space); });

}  // namespace
}  // namespace ddp::search
