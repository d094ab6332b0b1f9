#include "launch/plan/ineffective.h"

#include <algorithm>

#include "launch/plan/folders_of_sets.h"
#include "launch/plan/ineffective_lines.h"
#include "launch/plan/ineffective_schedule.h"

namespace ddp::launch {
namespace {

using config::Experiment;

void add_of_saves(const Experiment& e, std::int64_t steps, Ineffective& found) {
  const auto& each = e.checkpoint.save_every_steps;
  if (!each || *each <= steps) return;
  found.add("checkpoint.save_every_steps",
            "is more than the " + std::to_string(steps) + " steps of the run: it saves only at its end",
            "use a smaller number");
}

void add_of_held_out(const std::string& section, const config::HeldOut& h, Ineffective& found) {
  const std::string remedy = "give " + section + ".split too";
  if (!h.exists() && h.batch_size) {
    found.add(section + ".batch_size", "has no effect: nothing is held out to measure on", remedy);
  }
  if (h.split > 0) return;
  constexpr const char* kNoShare = "has no effect: no share of the dataset is held out";
  if (h.stratify) found.add(section + ".stratify", kNoShare, remedy);
  if (!h.by.empty()) found.add(section + ".by", kNoShare, remedy);
}

void add_of_recipe(const Experiment& e, Ineffective& found) {
  if (e.metrics.is_array() && !e.metrics.empty() && !e.validation.exists() && !e.test.exists()) {
    found.add("metrics", "has no effect: nothing is held out to measure on", "give validation.split or test.split too");
  }
  if (e.ema.on() && *e.ema.decay == 1) {
    found.add("ema.decay", "is 1: the average stays at the weights of its first update, and these are measured",
              "use a smaller number, such as 0.999");
  }
}

void add_of_targets(const Experiment& e, Ineffective& found) {
  if (!e.dataset.options.value("normalise_targets", false)) return;
  const config::Components components = e.components();
  const config::Spec* loss = components.find("loss", e.loss.name);
  if (!loss || loss->traits.value("outputs", "numbers") == "numbers") return;
  found.add("dataset.normalise_targets", "has no effect: the targets of " + e.loss.name + " are no numbers to scale",
            "leave it out");
}

// A run's config.toml contains every key. A key therefore counts only if its value is not the default.
void add_of_file(const config::Loaded& loaded, Ineffective& found) {
  const Experiment& e = loaded.experiment;
  const Experiment defaults;
  const auto& v = e.validation;
  if (!v.exists()) {
    constexpr const char* kWhy = "has no effect: nothing is held out to validate on";
    constexpr const char* kRemedy = "give validation.split too";
    if (v.every != defaults.validation.every) found.add("validation.every", kWhy, kRemedy);
    if (v.seed != defaults.validation.seed && e.test.split == 0) found.add("validation.seed", kWhy, kRemedy);
  }
  add_of_held_out("validation", v, found);
  add_of_held_out("test", e.test, found);
  add_of_recipe(e, found);
  add_of_targets(e, found);
  for (std::string& line : folders_of_sets(loaded)) found.add_line(std::move(line));
  if (!e.loader.shuffle && e.loader.sampler_seed != defaults.loader.sampler_seed) {
    found.add("loader.sampler_seed", "has no effect: shuffle = false keeps the order of the samples",
              "use shuffle = true, or leave sampler_seed out");
  }
  const config::Period period = v.period();
  if (v.exists() && e.epochs && period.epochs > *e.epochs && *e.epochs > 1) {
    found.add("validation.every",
              "is more than the " + std::to_string(*e.epochs) + " epochs of the run: it validates only at its end",
              "use a smaller number");
  }
  if (e.steps) add_of_saves(e, *e.steps, found);
  if (e.stop.patience == 0) {
    constexpr const char* kNoPatience = "has no effect without patience";
    if (!e.stop.metric.empty()) found.add("stop.metric", kNoPatience, "give stop.patience too");
    if (e.stop.min_delta != 0) found.add("stop.min_delta", kNoPatience, "give stop.patience too");
  }
}

void add_of_batches(const config::Loaded& loaded, const Plan& plan, const Workload& w, Ineffective& found) {
  const Experiment& e = plan.experiment;
  if (w.train_samples == 0) return;
  const std::int64_t of_rank = config::samples_of_rank(w.train_samples, plan.world_size(), e.loader.drop_last);
  const std::string key = loaded.given("global_batch_size") ? "global_batch_size" : "batch_size";
  if (loaded.given(key) && *e.batch_size > of_rank) {
    const std::int64_t most = key == "batch_size" ? of_rank : of_rank * plan.world_size() * e.accumulate;
    found.add(key,
              "cannot be reached: a rank has " + std::to_string(of_rank) + " samples to train on, fewer than the " +
                  std::to_string(*e.batch_size) + " of a batch, and takes all of them in each step",
              "use at most " + std::to_string(most));
  }
  if (e.accumulate > w.length.micro_batches_per_epoch) {
    found.add("accumulate",
              "cannot be reached: an epoch has " + std::to_string(w.length.micro_batches_per_epoch) +
                  " micro-batches a rank, and a step ends with its epoch",
              "use at most " + std::to_string(w.length.micro_batches_per_epoch));
  }
}

// CPU ranks of one node share memory that their parent maps.
void add_of_meeting(const Plan& plan, Ineffective& found) {
  const bool one_node = plan.world_size() == plan.ranks_here();
  if (plan.experiment.distributed.init_method == "env://" || !one_node || !plan.shares_memory()) return;
  found.add("distributed.init_method", "has no effect: the ranks of one node meet in shared memory",
            "give --nnodes and --node-rank to train on several nodes, or leave it out");
}

// tf32 applies to GPUs only. Settings that have not been tried on a GPU yet get a warning.
void add_of_devices(const config::Loaded& loaded, const Plan& plan, Ineffective& found) {
  const Experiment& e = loaded.experiment;
  if (!plan.uses_gpus()) {
    if (e.tf32.value_or(false)) found.add("tf32", "has no effect: no GPU computes", "leave it out");
    return;
  }
  std::string untried;
  const auto add = [&](bool given, const char* key) {
    if (given) untried += (untried.empty() ? "\"" : ", \"") + std::string(key) + "\"";
  };
  add(e.precision != "fp32", "precision");
  add(e.channels_last, "channels_last");
  add(e.tf32.has_value(), "tf32");
  if (!untried.empty()) found.add_line(untried + ": not tried on a GPU yet; compare with a run without it");
}

// The first step after which the run validates.
std::int64_t first_validation(const Experiment& e, const config::Length& run) {
  const config::Period every = e.validation.period();
  const std::int64_t step = every.steps > 0 ? every.steps : every.epochs * run.steps_per_epoch;
  return std::min(step, run.steps);
}

// Before its first update the average holds the weights before training.
void add_of_ema(const Experiment& e, const config::Length& run, Ineffective& found) {
  if (!e.ema.on()) return;
  const std::int64_t every = *e.ema.every;
  if (every > run.steps) {
    found.add("ema.every",
              "is more than the " + std::to_string(run.steps) +
                  " steps of the run: the average stays at the weights before training, and these are measured",
              "use a smaller number, or leave [ema] out");
  } else if (const std::int64_t step = first_validation(e, run); e.validation.exists() && every > step) {
    found.add("ema.every",
              "is " + std::to_string(every) + ", and the run validates after step " + std::to_string(step) +
                  ": until the first update it measures the weights before training",
              "use at most " + std::to_string(step) + ", or validate later");
  }
}

// Settings that depend on the model.
void add_of_model(const Experiment& e, const rank::Probe& probe, Ineffective& found) {
  if (e.channels_last && !probe.has_convolutions) {
    found.add("channels_last", "has no effect: it applies to convolutions, and the model has none", "leave it out");
  }
  for (std::size_t i = 0; i + 1 < probe.groups.size(); ++i) {
    if (probe.groups[i].at("parameters") != 0) continue;
    found.add("groups[" + std::to_string(i) + "]", "has no effect: all of its parameters are frozen",
              "leave it out, or change freeze");
  }
}

void add_of_steps(const Plan& plan, const Workload& w, Ineffective& found) {
  const Experiment& e = plan.experiment;
  const std::int64_t steps = w.length.steps;
  if (e.log.every > steps) {
    found.add("log.every",
              "is more than the " + std::to_string(steps) + " steps of the run: metrics.jsonl will contain no step",
              "use a smaller number");
  }
  if (!e.steps) add_of_saves(e, steps, found);
  add_of_ema(e, w.length, found);
}

}  // namespace

std::vector<std::string> without_effect(const config::Loaded& loaded) {
  Ineffective found(loaded);
  add_of_file(loaded, found);
  return found.take();
}

std::vector<std::string> without_effect(const config::Loaded& loaded, const Plan& plan, const rank::Probe& probe,
                                        const Workload& workload) {
  Ineffective found(loaded);
  add_of_file(loaded, found);
  add_of_meeting(plan, found);
  add_of_devices(loaded, plan, found);
  add_of_batches(loaded, plan, workload, found);
  add_of_schedule(plan, workload, found);
  add_of_model(plan.experiment, probe, found);
  add_of_stop(plan.experiment, workload, found);
  add_of_steps(plan, workload, found);
  return found.take();
}

}  // namespace ddp::launch
