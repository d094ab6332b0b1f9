#include "launch/plan/ineffective_schedule.h"

#include <algorithm>

#include "schedule/plateau.h"
#include "schedule/scheduler.h"

namespace ddp::launch {
namespace {

using config::Experiment;

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

}  // namespace

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

}  // namespace ddp::launch
