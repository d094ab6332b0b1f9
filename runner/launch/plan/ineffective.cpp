#include "launch/plan/ineffective.h"

#include <algorithm>
#include <cstdlib>
#include <filesystem>

#include "config/text/source.h"
#include "schedule/plateau.h"
#include "schedule/scheduler.h"

namespace ddp::launch {
namespace {

namespace fs = std::filesystem;
using config::Experiment;

constexpr const char* kNothingHeldOut = "has no effect: nothing is held out to measure on";

// One line for each setting that cannot take effect.
struct Ineffective {
  const config::Loaded& loaded;
  std::vector<std::string> lines = {};

  void add_if(bool when, const std::string& key, const std::string& why) {
    if (when) lines.push_back(loaded.where(key) + ": \"" + key + "\" " + why);
  }
};

std::string number(std::int64_t value) { return std::to_string(value); }

// `exists`: there is such a set.
void add_of_held_out(const std::string& section, const config::HeldOut& h, bool exists, Ineffective& found) {
  found.add_if(!exists && h.batch_size, section + ".batch_size", kNothingHeldOut);
  const std::string without_split = "has no effect without " + section + ".split";
  found.add_if(h.split <= 0 && h.stratify, section + ".stratify", without_split);
  found.add_if(h.split <= 0 && !h.by.empty(), section + ".by", without_split);
}

// With a path above the folders of its sets, a dataset whose folders are its classes would train these as classes.
void add_of_folders(const Experiment& e, Ineffective& found) {
  const config::Components components = e.components();
  const config::Spec* const dataset = components.find("dataset", e.dataset.name);
  const auto path = e.dataset.options.find("path");
  if (dataset == nullptr || !dataset->traits.value("classes_are_folders", false)) return;
  if (path == e.dataset.options.end() || !path->is_string()) return;
  const fs::path folder = path->get<std::string>();
  std::error_code unreadable;
  if (!fs::is_directory(folder / "train", unreadable)) return;
  for (const char* other : {"val", "valid", "validation", "test"}) {
    if (!fs::is_directory(folder / other, unreadable)) continue;
    return found.add_if(true, "dataset.path",
                        "is " + config::printable(folder.string()) + ", whose folders are the classes: \"train\", \"" +
                            other + "\", …");
  }
}

// A run's config.toml contains every key. A key therefore counts only if its value is not the default.
void add_of_file(const config::Loaded& loaded, Ineffective& found) {
  const Experiment& e = loaded.experiment;
  const Experiment defaults;
  const auto& v = e.validation;
  found.add_if(!v.exists() && v.every != defaults.validation.every, "validation.every", kNothingHeldOut);
  found.add_if(!v.exists() && v.seed != defaults.validation.seed, "validation.seed", kNothingHeldOut);
  found.add_if(!e.test.exists() && e.test.seed != defaults.test.seed, "test.seed", kNothingHeldOut);
  add_of_held_out("validation", v, v.exists(), found);
  add_of_held_out("test", e.test, e.test.exists(), found);
  found.add_if(e.metrics.is_array() && !e.metrics.empty() && !v.exists() && !e.test.exists(), "metrics",
               kNothingHeldOut);
  add_of_folders(e, found);
  found.add_if(!e.loader.shuffle && e.loader.sample == "all" && e.loader.sampler_seed != defaults.loader.sampler_seed,
               "loader.sampler_seed", "has no effect: shuffle = false keeps the order of the samples");
  found.add_if(v.exists() && e.epochs.value_or(1) > 1 && v.period().epochs > *e.epochs, "validation.every",
               "is more than the epochs of the run: it validates only at its end");
  found.add_if(e.stop.patience == 0 && !e.stop.metric.empty(), "stop.metric", "has no effect without stop.patience");
  found.add_if(e.stop.patience == 0 && e.stop.min_delta != 0, "stop.min_delta", "has no effect without stop.patience");
}

void add_of_batches(const config::Loaded& loaded, const Plan& plan, std::int64_t train_samples,
                    const config::Length& run, Ineffective& found) {
  const Experiment& e = plan.experiment;
  if (train_samples == 0) return;
  const std::int64_t of_rank = config::samples_of_rank(train_samples, plan.logical_ranks(), e.loader.drop_last);
  const std::string key = loaded.given("global_batch_size") ? "global_batch_size" : "batch_size";
  found.add_if(loaded.given(key) && *e.batch_size > of_rank, key,
               "cannot be reached: a rank has " + number(of_rank) + " samples to train on, and a batch takes " +
                   number(*e.batch_size));
  found.add_if(e.accumulate > run.micro_batches_per_epoch, "accumulate",
               "cannot be reached: an epoch has " + number(run.micro_batches_per_epoch) +
                   " micro-batches a rank, and a step ends with its epoch");
}

// A setting that has not been tried on a GPU yet gets a warning, too.
void add_of_devices(const config::Loaded& loaded, const Plan& plan, const rank::Probe& probe, Ineffective& found) {
  const Experiment& e = loaded.experiment;
  found.add_if(e.channels_last && !probe.has_convolutions, "channels_last",
               "has no effect: it applies to convolutions, and the model has none");
  found.add_if(!plan.uses_gpus() && e.tf32.value_or(false), "tf32", "has no effect: no GPU computes");
  found.add_if(plan.uses_gpus() && e.tf32.has_value(), "tf32",
               "is not tried on a GPU yet; compare with a run without it");
}

// Returns whether lr changes after the warm-up. Samples about 1000 steps.
bool schedule_acts(const Experiment& e, std::int64_t warmup, const config::Length& run) {
  const schedule::Scheduler scheduler = schedule::scheduler_of(e, run);
  const std::int64_t stride = std::max<std::int64_t>(1, (run.steps - warmup) / 1000);
  const double first = scheduler(warmup);
  if (scheduler(run.steps - 1) != first) return true;
  for (std::int64_t step = warmup; step < run.steps; step += stride) {
    if (scheduler(step) != first) return true;
  }
  return false;
}

// Returns how many new values of a metric a run has before its end: one for each validation, or for each epoch if it is
// train_loss.
std::int64_t judgements(const Experiment& e, const std::string& metric, const config::Length& run) {
  if (!metric.starts_with(config::kValidationPrefix)) return run.epochs - 1;
  const config::Period every = e.validation.period();
  return every.steps > 0 ? (run.steps - 1) / every.steps : (run.epochs - 1) / every.epochs;
}

// Adds a key whose rule needs more values of a metric than the run has before its end.
void add_if_starved(const Experiment& e, const config::Length& run, const std::string& of, std::int64_t needed,
                    const std::string& key, const std::string& what, Ineffective& found) {
  const std::string metric = e.metric_named(of).name;
  const std::int64_t times = judgements(e, metric, run);
  found.add_if(times < needed, key,
               what + ": the run has " + number(times) + " values of " + metric + " before its end, and it needs " +
                   number(needed));
}

void add_of_schedule(const Experiment& e, const config::Length& run, Ineffective& found) {
  const std::int64_t warmup = schedule::warmup_steps_of(e, schedule::horizon_of(0, run));
  const std::string length = "and the run has " + number(run.steps) + " steps";
  const auto& options = e.scheduler.options;
  if (warmup > 0 && warmup >= run.steps) {
    found.add_if(true, options.contains("warmup") ? "scheduler.warmup" : "scheduler.warmup_steps",
                 "is " + number(warmup) + " steps, " + length + ": it ends before the warm-up");
  } else if (schedule::follows_metric(e)) {
    const schedule::PlateauOptions plateau = schedule::plateau_of(e);
    add_if_starved(e, run, plateau.metric, plateau.patience + 2, "scheduler", "never changes lr", found);
  } else if (e.scheduler.name != "constant" && schedule::is_here(e.scheduler.name)) {
    found.add_if(!schedule_acts(e, warmup, run), options.contains("step_size") ? "scheduler.step_size" : "scheduler",
                 "never changes lr: the run has " + number(run.steps) + " steps");
  }
}

// Before its first update the average holds the weights before training.
void add_of_ema(const Experiment& e, const config::Length& run, Ineffective& found) {
  if (!e.ema.on()) return;
  const config::Period every = e.validation.period();
  const std::int64_t validates = every.steps > 0 ? every.steps : every.epochs * run.steps_per_epoch;
  const std::int64_t measured = e.validation.exists() ? std::min(validates, run.steps) : run.steps;
  found.add_if(*e.ema.every > measured, "ema.every",
               "is " + number(*e.ema.every) + ", and the run measures after step " + number(measured) +
                   ": it then measures the weights before training");
}

}  // namespace

std::vector<std::string> without_effect(const config::Loaded& loaded) {
  Ineffective found{.loaded = loaded};
  add_of_file(loaded, found);
  return found.lines;
}

std::vector<std::string> without_effect(const config::Loaded& loaded, const Plan& plan, const rank::Probe& probe,
                                        const config::Length& run) {
  Ineffective found{.loaded = loaded};
  const Experiment& e = plan.experiment;
  const std::int64_t steps = run.steps;
  add_of_file(loaded, found);
  found.add_if(e.distributed.init_method != "env://" && plan.world_size() == plan.ranks_here() && plan.shares_memory(),
               "distributed.init_method", "has no effect: the ranks of one node meet in shared memory");
  add_of_devices(loaded, plan, probe, found);
  add_of_batches(loaded, plan, probe.train_samples, run, found);
  add_of_schedule(e, run, found);
  for (std::size_t i = 0; i + 1 < probe.groups.size(); ++i) {
    found.add_if(probe.groups[i].parameters == 0, "groups[" + std::to_string(i) + "]",
                 "has no effect: all of its parameters are frozen");
  }
  found.add_if(probe.layers.size() == 1, "optimizer.layer_decay", "has no effect: all parameters are in one layer");
  if (e.stop.patience > 0) {
    add_if_starved(e, run, e.stop.metric, e.stop.patience + 1, "stop.patience", "never ends the run", found);
  }
  found.add_if(e.log.every > steps, "log.every",
               "is more than the " + number(steps) + " steps of the run: metrics.jsonl will contain no step");
  found.add_if(e.checkpoint.save_every_steps.value_or(0) > steps, "checkpoint.save_every_steps",
               "is more than the " + number(steps) + " steps of the run: it saves only at its end");
  add_of_ema(e, run, found);
  return found.lines;
}

std::vector<std::string> device_warnings(const config::Loaded& loaded, const Plan& plan, const Launch& launch) {
  std::vector<std::string> lines;
  if (launch.one_rank && loaded.experiment.notify.command) {
    lines.push_back(loaded.where("notify.command") +
                    ": \"notify.command\" has no effect: a launcher started the ranks");
  }
  const config::Value& pool = loaded.experiment.device_pool;
  const char* const gpus = std::getenv("SLURM_GPUS_ON_NODE");
  if (!pool.is_array() && plan.gpus.empty() && gpus != nullptr && std::atoi(gpus) > 0) {
    lines.push_back("Slurm gave this job GPUs, but none is visible: " + number(plan.ranks_here()) + " CPU ranks train");
  }
  if (launch.ranks_here && !plan.strategy.all_devices && pool.is_number() && pool.get<int>() > plan.ranks_here()) {
    lines.push_back(loaded.where("device_pool") + ": \"device_pool\" is " + pool.dump() +
                    ", and the launcher starts here only " + number(plan.ranks_here()));
  }
  return lines;
}

}  // namespace ddp::launch
