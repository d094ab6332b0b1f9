#include "launch/plan/ineffective.h"

#include <algorithm>
#include <utility>

#include "launch/plan/folders_of_sets.h"
#include "schedule/plateau.h"
#include "schedule/scheduler.h"

namespace ddp::launch {
namespace {

using config::Experiment;

class Ineffective {
 public:
  explicit Ineffective(const config::Loaded& loaded) : loaded_(loaded) {}

  void add_line(std::string line) { lines_.push_back(std::move(line)); }
  void add(const std::string& key, const std::string& why, const std::string& remedy) {
    lines_.push_back(loaded_.where(key) + ": \"" + key + "\" " + why + "; " + remedy);
  }
  std::vector<std::string> take() { return std::move(lines_); }

 private:
  const config::Loaded& loaded_;
  std::vector<std::string> lines_;
};

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

// Returns whether lr changes after the warm-up. Samples about 1000 steps.
bool schedule_acts(const Experiment& e, std::int64_t warmup, const config::Length& run) {
  const std::int64_t steps = run.steps;
  const schedule::Scheduler scheduler = schedule::scheduler_of(e, run);
  const std::int64_t stride = std::max<std::int64_t>(1, (steps - warmup) / 1000);
  const double first = scheduler(warmup);
  if (scheduler(steps - 1) != first) return true;
  for (std::int64_t step = warmup; step < steps; step += stride) {
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

std::string times_in_words(const std::string& metric, std::int64_t times) {
  return "the run has " + std::to_string(times) + " value" + (times == 1 ? "" : "s") + " of " + metric +
         " before its end";
}

void add_of_plateau(const Experiment& e, const Workload& w, Ineffective& found) {
  const schedule::PlateauOptions plateau = schedule::plateau_of(e);
  const std::string metric = e.metric_named(plateau.metric).name;
  const std::int64_t times = judgements(e, metric, w.length);
  if (times >= plateau.patience + 2) return;
  found.add("scheduler",
            "never changes lr: " + times_in_words(metric, times) + ", and a patience of " +
                std::to_string(plateau.patience) + " needs " + std::to_string(plateau.patience + 2),
            "validate more often, use a smaller patience, or train longer");
}

void add_of_stop(const Experiment& e, const Workload& w, Ineffective& found) {
  const config::Stop& stop = e.stop;
  if (stop.patience == 0) return;
  const std::string metric = e.metric_named(stop.metric).name;
  const std::int64_t times = judgements(e, metric, w.length);
  if (times > stop.patience) return;
  found.add(
      "stop.patience",
      "never ends the run: " + times_in_words(metric, times) + ", and it needs " + std::to_string(stop.patience + 1),
      "validate more often, use a smaller patience, or train longer");
}

// Returns the steps of a part of the run, with the file's words for it: `"5 epochs" (160 steps)`.
std::string part_in_words(const config::Value& part, std::int64_t steps) {
  const std::string count = std::to_string(steps) + " steps";
  const std::string text = part.is_string() ? part.get<std::string>() : "";
  return text.empty() || text.find("step") != std::string::npos ? count : "\"" + text + "\" (" + count + ")";
}

void add_of_wsd(const Experiment& e, std::int64_t warmup, const config::Length& run, Ineffective& found) {
  if (e.scheduler.name != "wsd") return;
  const std::int64_t decay = schedule::steps_of(e.scheduler.options.at("decay"), schedule::horizon_of(0, run), "decay");
  const std::int64_t left = run.steps - warmup;
  if (decay <= left) return;
  found.add("scheduler.decay",
            "is " + part_in_words(e.scheduler.options.at("decay"), decay) + ", and the run has " +
                std::to_string(left) + (warmup > 0 ? " after the warm-up" : "") +
                ": lr falls from the first of these steps, and begins below its full value",
            "use fewer, or train longer");
}

void add_of_schedule(const Plan& plan, const Workload& w, Ineffective& found) {
  const Experiment& e = plan.experiment;
  const std::int64_t steps = w.length.steps;
  const std::int64_t warmup = schedule::warmup_steps_of(e, schedule::horizon_of(0, w.length));
  const bool as_part = e.scheduler.options.contains("warmup");
  if (warmup > 0 && warmup >= steps) {
    found.add(as_part ? "scheduler.warmup" : "scheduler.warmup_steps",
              "is " + part_in_words(e.scheduler.options.value("warmup", config::Value()), warmup) +
                  ", and the run has " + std::to_string(steps) +
                  " steps: the run ends before the warm-up, and nothing else of the schedule takes effect",
              "use fewer, or train longer");
  } else if (schedule::follows_metric(e)) {
    add_of_plateau(e, w, found);
  } else if (e.scheduler.name != "constant" && schedule::is_here(e.scheduler.name) &&
             !schedule_acts(e, warmup, w.length)) {
    const bool has_size = e.scheduler.options.contains("step_size");
    found.add(has_size ? "scheduler.step_size" : "scheduler",
              "never changes lr: the run has " + std::to_string(steps) + " steps",
              has_size ? "use a smaller step_size, or train longer" : "change its options, or use \"constant\"");
  }
  if (warmup < steps) add_of_wsd(e, warmup, w.length, found);
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
  add_of_devices(loaded, plan, found);
  add_of_batches(loaded, plan, workload, found);
  add_of_schedule(plan, workload, found);
  add_of_model(plan.experiment, probe, found);
  add_of_stop(plan.experiment, workload, found);
  add_of_steps(plan, workload, found);
  return found.take();
}

}  // namespace ddp::launch
