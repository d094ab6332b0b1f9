#include "commands/show_sweep.h"

#include <algorithm>
#include <cstdio>
#include <iostream>

#include "launch/terminal.h"
#include "sweep/trials.h"

namespace ddp::commands {
namespace {

using config::Value;

// What a trial costs beside its steps: forks, set-up, files.
constexpr double kTrialSeconds = 0.05;
constexpr std::size_t kMostShown = 50;

double seconds_of(const PlannedTrial& trial) {
  return kTrialSeconds + trial.step_seconds * static_cast<double>(trial.workload.length.steps);
}

// Of asha, what all trials would take that train to their ends: it takes less.
double seconds_of(const PreparedSweep& p) {
  double seconds = 0;
  for (const PlannedTrial& trial : p.trials) seconds += seconds_of(trial);
  return seconds / p.at_once;
}

Value to_json(const PreparedSweep& p) {
  const auto& sweep = p.loaded->sweep;
  Value trials = Value::array();
  for (int i = 0; i < p.search->trials(); ++i) {
    const PlannedTrial& trial = p.trials[static_cast<std::size_t>(i)];
    trials.push_back({{"trial", i},
                      {"parameters", sweep.named(p.search->point(i))},
                      {"world_size", trial.ranks},
                      {"steps", trial.workload.length.steps},
                      {"seconds", seconds_of(trial)}});
  }
  return {{"version", 1},           {"kind", "sweep"},
          {"name", p.loaded->name}, {"method", sweep.method.name},
          {"metric", sweep.metric}, {"goal", sweep.greater_is_better ? "max" : "min"},
          {"at_once", p.at_once},   {"gpus", p.gpus.size()},
          {"cores", p.cores},       {"seconds", seconds_of(p)},
          {"trials", trials}};
}

void row(const char* label, const std::string& value) { std::printf("%-12s %s\n", label, value.c_str()); }

}  // namespace

void show_sweep(const PreparedSweep& p, bool json) {
  if (json) {
    std::cout << to_json(p).dump(2, ' ', false, Value::error_handler_t::replace) << std::endl;
    return;
  }
  const auto& sweep = p.loaded->sweep;
  const auto trials = static_cast<std::size_t>(p.search->trials());
  const auto most_ranks = std::max_element(p.trials.begin(), p.trials.end(), [](const auto& a, const auto& b) {
                            return a.ranks < b.ranks;
                          })->ranks;
  std::int64_t steps = 0;
  for (const PlannedTrial& trial : p.trials) steps += trial.workload.length.steps;
  row("sweep", p.loaded->name + ", " + sweep.method.name + " for the " +
                   (sweep.greater_is_better ? "greatest " : "least ") + sweep.metric);
  row("trials", std::to_string(trials) + ", of up to " + std::to_string(most_ranks) +
                    (most_ranks == 1 ? " rank, " : " ranks, ") + std::to_string(p.at_once) + " side by side");
  row("devices", p.gpus.empty() ? std::to_string(p.cores) + " CPU cores" : std::to_string(p.gpus.size()) + " GPUs");
  row("steps", std::to_string(steps) + " in all" + (sweep.method.name == "asha" ? ", where none is stopped" : ""));
  row("time",
      "about " + launch::duration(seconds_of(p)) + (sweep.method.name == "asha" ? ", where none is stopped" : ""));
  for (std::size_t i = 0; i < std::min(trials, kMostShown); ++i) {
    const int trial = static_cast<int>(i);
    row(("trial " + std::to_string(i)).c_str(), sweep::in_words(sweep.named(p.search->point(trial))));
  }
  if (trials > kMostShown) row("", "and " + std::to_string(trials - kMostShown) + " more");
}

}  // namespace ddp::commands
