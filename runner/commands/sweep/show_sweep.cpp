#include "commands/sweep/show_sweep.h"

#include <algorithm>
#include <iostream>

#include "config/text/source.h"
#include "report/text/table.h"
#include "report/text/words.h"
#include "sweep/trials.h"

namespace ddp::commands {
namespace {

using config::Value;

// Cost of a trial besides its steps: forks, set-up, files.
constexpr double kTrialSeconds = 0.05;
constexpr std::size_t kMostShown = 50;

double seconds_of(const PlannedTrial& trial) {
  return kTrialSeconds + trial.step_seconds * static_cast<double>(trial.workload.length.steps);
}

// The time if all trials train to their ends; asha takes less.
double seconds_of(const PreparedSweep& p) {
  double seconds = 0;
  for (const PlannedTrial& trial : p.trials) seconds += seconds_of(trial);
  return seconds / p.at_once;
}

Value to_json(const PreparedSweep& p, const std::string& folder) {
  const auto& sweep = p.loaded->sweep;
  Value trials = Value::array();
  for (int i = 0; i < p.search->trials(); ++i) {
    const PlannedTrial& trial = p.trials[static_cast<std::size_t>(i)];
    trials.push_back({{"trial", i},
                      {"parameters", p.search->decided(i) ? sweep.named(p.search->point(i)) : Value::object()},
                      {"world_size", trial.ranks},
                      {"steps", trial.workload.length.steps},
                      {"seconds", seconds_of(trial)}});
  }
  return {{"version", 1},
          {"kind", "sweep"},
          {"name", p.loaded->name},
          {"method", sweep.method.name},
          {"metric", sweep.metric.name},
          {"goal", sweep.goal()},
          {"at_once", p.at_once},
          {"gpus", p.gpus.size()},
          {"cores", p.cores},
          {"seconds", seconds_of(p)},
          {"results", folder},
          {"trials", trials},
          {"warnings", p.warnings}};
}

}  // namespace

void show_sweep(const PreparedSweep& p, const std::filesystem::path& results, bool json) {
  const std::string folder = config::printable((results / p.loaded->name).string());
  if (json) {
    std::cout << to_json(p, folder).dump(2, ' ', false, Value::error_handler_t::replace) << std::endl;
    return;
  }
  const auto& sweep = p.loaded->sweep;
  const auto trials = static_cast<std::size_t>(p.search->trials());
  const auto most_ranks = std::max_element(p.trials.begin(), p.trials.end(), [](const auto& a, const auto& b) {
                            return a.ranks < b.ranks;
                          })->ranks;
  std::int64_t steps = 0;
  for (const PlannedTrial& trial : p.trials) steps += trial.workload.length.steps;
  const auto begins_decided = [&](std::size_t trial) { return p.search->decided(static_cast<int>(trial)); };
  const std::string at_most = p.search->independent()      ? ""
                              : begins_decided(trials - 1) ? " if every trial is promoted"
                                                           : " with values drawn at random";
  report::Table facts;
  facts.row({"sweep", p.loaded->name + ", " + sweep.method.name + " for the " +
                          (sweep.metric.direction == config::Direction::greater ? "greatest " : "least ") +
                          sweep.metric.name});
  facts.row({"trials", std::to_string(trials) + ", up to " + report::counted(most_ranks, "rank") + " each, " +
                           std::to_string(p.at_once) + " side by side"});
  facts.row({"devices", p.gpus.empty() ? report::counted(p.cores, "CPU core")
                                       : report::counted(static_cast<std::int64_t>(p.gpus.size()), "GPU")});
  facts.row({"steps", std::to_string(steps) + " in total" + at_most});
  facts.row({"time", "about " + report::duration(seconds_of(p)) + at_most});
  facts.row({"results", folder});
  std::size_t shown = 0;
  for (; shown < std::min(trials, kMostShown) && begins_decided(shown); ++shown) {
    const config::Value parameters = sweep.named(p.search->point(static_cast<int>(shown)));
    facts.row({"trial " + std::to_string(shown), sweep::in_words(parameters)});
  }
  if (trials > shown) {
    const std::string why = begins_decided(shown) ? "" : ", with values that depend on the results of others";
    facts.row({"", "and " + std::to_string(trials - shown) + " more" + why});
  }
  facts.print(std::cout, {});
}

}  // namespace ddp::commands
