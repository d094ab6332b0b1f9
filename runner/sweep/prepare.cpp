#include "sweep/prepare.h"

#include <algorithm>
#include <map>
#include <set>

#include "base/limits.h"
#include "base/log.h"
#include "launch/library/libtorch.h"
#include "launch/library/plugin.h"
#include "launch/plan/ineffective.h"
#include "launch/plan/plan.h"
#include "launch/start/probe.h"
#include "report/text/words.h"
#include "runs/prepare.h"

namespace ddp::sweep {
namespace {

using config::Value;

// Returns the devices that a trial requests from the pool. If the file gives threads, each takes a core.
DeviceRequest request_of(const config::Loaded& loaded, const launch::Plan& plan) {
  DeviceRequest request{.entries = plan.ranks_here(), .gpus = plan.uses_gpus()};
  if (!request.gpus) {
    if (loaded.given("threads")) request.entries *= static_cast<int>(*plan.experiment.threads);
    return request;
  }
  request.entries = 0;
  for (const auto& group : plan.groups) request.entries += static_cast<int>(group.size());
  if (!loaded.experiment.device_pool.is_array()) return request;
  for (const auto& group : plan.groups) {
    for (const auto& device : group) request.named.push_back(std::stoi(device.substr(5)));
  }
  return request;
}

// Tries model and data once per kind: trials of one kind differ in nothing that one batch can show.
class Tries {
 public:
  Tries(const launch::RankLibrary& library, launch::DataShelf& shelf, bool timed)
      : library_(library), shelf_(shelf), timed_(timed) {}

  const rank::Probe& probe(const config::Loaded& loaded, launch::Plan& plan) {
    const auto& e = plan.experiment;
    const Value kind = {e.model.name,
                        e.model.options,
                        e.dataset.name,
                        e.dataset.options,
                        e.validation.dataset.options,
                        e.test.dataset.options,
                        e.validation.split,
                        e.test.split,
                        e.validation.last,
                        config::write(e.folds),
                        e.loss.name,
                        e.loss.options,
                        e.optimizer.name,
                        e.parallel,
                        plan.groups.front().size(),
                        config::write(e.init_from),
                        e.freeze,
                        e.groups,
                        e.optimizer.options.value("layers", Value())};
    const std::string name = kind.dump(-1, ' ', false, Value::error_handler_t::replace);
    const auto known = known_.find(name);
    if (known == known_.end()) {
      const auto data = read(loaded, plan);
      const auto weights = launch::weights_of(loaded);
      const auto probed =
          runs::with_lines(loaded, [&] { return launch::probe(library_, plan, "", weights, *data, timed_); });
      return known_.emplace(name, probed).first->second;
    }
    if (!timed_ && shelf_.wants(plan)) read(loaded, plan);
    return known->second;
  }

 private:
  std::shared_ptr<const launch::HeldData> read(const config::Loaded& loaded, launch::Plan& plan) {
    launch::obtain(plan.libraries);
    auto data = runs::with_lines(loaded, [&] { return shelf_.hold(library_, loaded, plan); });
    shelf_.keep(plan, data);
    return data;
  }

  const launch::RankLibrary& library_;
  launch::DataShelf& shelf_;
  const bool timed_;
  std::map<std::string, rank::Probe> known_;
};

// Collects the mistakes of trials that differ. A mistake that two kinds of trials share is probably one of all trials.
class Mistakes {
 public:
  // Tells whether further trials may have other mistakes.
  bool add(const Error& error, const config::Sweep& sweep, int trial, const config::Point& point) {
    if (error.fault() != Fault::usage) throw error;
    if (!known_.insert(error.what()).second) return false;
    texts_ += texts_.empty() ? "" : "\n";
    texts_ += error.what();
    if (!is_at_value(error.where(), point)) {
      texts_ += "\n  in trial " + std::to_string(trial) + ": " + sweep.named(point).dump();
    }
    return true;
  }
  void require_none() const {
    if (!texts_.empty()) throw usage_error(texts_);
  }

 private:
  static bool is_at_value(const std::string& where, const config::Point& point) {
    return std::any_of(point.begin(), point.end(),
                       [&](const config::Node& value) { return config::where(value.place) == where; });
  }

  std::set<std::string> known_;
  std::string texts_;
};

void add_each_once(std::vector<std::string>& all, const std::vector<std::string>& some) {
  for (const std::string& text : some) report::add_once(all, text);
}

// Warns that the seeds of a sweep leave the weights as they are.
std::vector<std::string> of_seed(const config::Sweep& sweep, const config::Experiment& trial) {
  const bool varies = std::any_of(sweep.parameters.begin(), sweep.parameters.end(),
                                  [](const auto& parameter) { return parameter.key == "seed"; });
  if (!varies || trial.model.name != "exported" || trial.model.options.value("init", "") == "seed") return {};
  return {
      "seed does not draw the weights of an exported model, which are in its file: trials differ only by dropout, "
      "random transforms and the like; model.init = \"seed\" draws the weights, too"};
}

// Warns that trials are not measured alike: their losses compare samples, and their validation batches differ.
std::vector<std::string> of_batches(const std::set<std::int64_t>& validation_batches) {
  if (validation_batches.size() < 2) return {};
  return {"the loss compares the samples of a batch with each other, and the trials validate with batches of " +
          std::to_string(*validation_batches.begin()) + " to " + std::to_string(*validation_batches.rbegin()) +
          " samples: their metrics differ by that, too; set validation.batch_size"};
}

int widest(const SweepPlan& p) {
  int most = 1;
  for (const auto& trial : p.trials) most = std::max(most, trial.request.entries);
  return most;
}

// Sets the number of trials side by side, and the cores of each of their ranks.
void share_machine(SweepPlan& p, std::optional<int> jobs) {
  const bool gpus = std::any_of(p.trials.begin(), p.trials.end(), [](const auto& t) { return t.request.gpus; });
  p.cores = usable_cores();
  // A user's --jobs always holds on CPUs: cores can be shared, GPUs cannot.
  if (jobs) p.cores = std::max(p.cores, *jobs * widest(p));
  int narrowest = widest(p);
  for (const auto& trial : p.trials) narrowest = std::min(narrowest, trial.request.entries);
  const int entries = gpus ? static_cast<int>(p.gpus.size()) : p.cores;
  p.at_once = std::clamp(entries / std::max(1, narrowest), 1, std::max(1, p.search->trials()));
  if (jobs) p.at_once = std::min(p.at_once, *jobs);
  p.loaded->set_threads(default_threads(p.at_once * narrowest));
}

// Throws if the two experiments of a race are not measured on the same rows.
void require_same_rows(SweepPlan& p, const std::vector<config::Loaded>& trials, std::vector<launch::Plan>& plans) {
  std::array<config::Rows, 2> rows;
  for (std::size_t i = 0; i < rows.size(); ++i) {
    const auto data = p.data.hold(*p.library, trials[i], plans[i]);
    rows[i] = launch::rows_of_data(*p.library, plans[i], *data);
  }
  if (rows[0].held_out == rows[1].held_out) return;
  throw usage_error("A and B are not measured on the same rows", p.loaded->name,
                    "give both the same [validation] and [test], and the same data");
}

// Tries model and data of the trials. Throws ddp::Error (usage) with the mistakes of all of them.
void try_trials(SweepPlan& p, const std::vector<config::Loaded>& trials, std::vector<launch::Plan>& plans, bool timed) {
  Tries tries(*p.library, p.data, timed);
  Mistakes mistakes;
  std::set<std::int64_t> validation_batches;  // of losses that compare samples
  for (std::size_t i = 0; i < trials.size(); ++i) {
    try {
      const rank::Probe& probe = tries.probe(trials[i], plans[i]);
      p.trials[i].length = launch::length_of_run(trials[i], plans[i], probe);
      p.trials[i].step_seconds = probe.step_seconds;
      const config::Validation& validation = plans[i].experiment.validation;
      if (probe.compares_samples && validation.exists()) validation_batches.insert(*validation.batch_size);
      add_each_once(p.warnings, probe.warnings);
      add_each_once(p.warnings, of_seed(p.loaded->sweep, plans[i].experiment));
      add_each_once(p.warnings, launch::without_effect(trials[i], plans[i], probe, p.trials[i].length));
    } catch (const Error& error) {
      const int trial = static_cast<int>(i);
      if (!mistakes.add(error, p.loaded->sweep, trial, p.search->point(trial))) break;
    }
  }
  mistakes.require_none();
  add_each_once(p.warnings, of_batches(validation_batches));
  if (p.loaded->is_race()) require_same_rows(p, trials, plans);
}

// The runs of a cross-validation or race.
class Parts final : public search::InOrder {
 public:
  Parts(const config::LoadedSweep& loaded, std::int64_t until_epoch) : loaded_(loaded), until_epoch_(until_epoch) {}

  int trials() const override { return static_cast<int>(loaded_.parts.size()); }
  config::Point point(int trial) const override {
    return loaded_.point_of(loaded_.parts.at(static_cast<std::size_t>(trial)));
  }
  std::optional<search::NextTrial> next(const search::Fits& fits) const override {
    auto found = InOrder::next(fits);
    if (found) found->epochs = until_epoch_;
    return found;
  }

 private:
  const config::LoadedSweep& loaded_;
  const std::int64_t until_epoch_;
};

}  // namespace

std::string method_of(const config::LoadedSweep& loaded) {
  return loaded.is_cv() ? "cv" : loaded.is_race() ? "race" : loaded.sweep.method.name;
}

std::unique_ptr<search::Search> make_search(const config::LoadedSweep& loaded, std::int64_t until_epoch) {
  if (!loaded.is_sweep()) return std::make_unique<Parts>(loaded, until_epoch);
  const config::Sweep& sweep = loaded.sweep;
  try {
    return search::methods().build(sweep.method.name, sweep.method.options,
                                   {.parameters = sweep.parameters, .epochs = loaded.epochs});
  } catch (const Error& error) {
    if (!error.where().starts_with("sweep.")) throw;  // it has a place
    const auto given = loaded.places.find(error.where());
    const config::SourceRange& place = given == loaded.places.end() ? loaded.place : given->second;
    throw usage_error(config::in_quotes(error.where()) + ": " + error.summary() + "\n" + config::excerpt(place),
                      config::where(place), error.remedy());
  }
}

std::vector<config::Loaded> check_trials(const config::LoadedSweep& loaded, const search::Search& search) {
  config::Mistakes mistakes;
  std::vector<config::Loaded> trials;
  for (int trial = 0; trial < search.trials(); ++trial) {
    trials.push_back(loaded.trial(search.point(trial), mistakes));
  }
  if (!mistakes.empty()) throw mistakes.error();
  return trials;
}

SweepPlan prepare_sweep(config::LoadedSweep loaded, std::optional<int> jobs, const std::filesystem::path& results,
                        bool timed) {
  SweepPlan p;
  p.loaded = std::make_unique<config::LoadedSweep>(std::move(loaded));
  p.search = make_search(*p.loaded);
  std::vector<config::Loaded> trials = check_trials(*p.loaded, *p.search);
  for (auto& trial : trials) {
    launch::find_weights(trial, results);
    p.objects->fetch(trial.experiment);
  }
  const auto& varied = p.loaded->sweep.parameters;
  const bool weights_vary =
      std::any_of(varied.begin(), varied.end(), [](const auto& one) { return one.key.starts_with("init_from"); });
  if (!weights_vary) p.loaded->set_weights(trials.front().experiment.init_from.path);
  if (p.loaded->is_race()) {
    p.loaded->set_weights(trials.at(1).experiment.init_from.path, /*of_other=*/true);
  }
  p.gpus = launch::visible_gpus();
  std::vector<launch::Plan> plans;
  for (const auto& trial : trials) {
    plans.push_back(launch::make_plan(trial, p.gpus));
    p.trials.push_back({.ranks = plans.back().ranks_here(), .request = request_of(trial, plans.back()), .length = {}});
  }
  share_machine(p, jobs);
  const bool gpus = std::any_of(plans.begin(), plans.end(), [](const auto& plan) { return plan.uses_gpus(); });
  p.library = std::make_shared<launch::RankLibrary>(gpus, p.loaded->components().plugin());
  for (const launch::Plan& plan : plans) p.data.expect(plan);
  try_trials(p, trials, plans, timed);
  if (!trials.front().experiment.checkpoint.mirror.empty()) {
    add_each_once(p.warnings, {"checkpoint.mirror has no effect: trials are not copied"});
  }
  log::warn_of(p.warnings);
  return p;
}

}  // namespace ddp::sweep
