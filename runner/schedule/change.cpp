#include "schedule/change.h"

#include <algorithm>
#include <cmath>
#include <cstdio>

#include "schedule/plateau.h"
#include "schedule/scheduler.h"

namespace ddp::schedule {
namespace {

std::string lr_text(double lr) {
  char text[32];
  std::snprintf(text, sizeof text, "%.4g", lr);
  return text;
}

bool equal_lr(double a, double b) { return std::abs(a - b) <= 1e-12 * std::max(std::abs(a), std::abs(b)); }

std::string length_text(const Course& course) {
  const std::string steps = std::to_string(course.length.steps) + " steps";
  if (!course.experiment.epochs) return steps;
  return std::to_string(*course.experiment.epochs) + " epochs (" + steps + ")";
}

}  // namespace

std::string change_in_words(const Course& before, const Course& now, std::int64_t step) {
  if (!is_here(before.experiment.scheduler.name) || !is_here(now.experiment.scheduler.name)) return "";
  if (follows_metric(before.experiment) || follows_metric(now.experiment)) return "";
  const double old_lr = scheduler_of(before.experiment, before.length)(std::min(step, before.length.steps));
  config::Experiment with_old_lr = now.experiment;
  with_old_lr.optimizer.options["lr"] = before.experiment.optimizer.options.value("lr", 0.0);
  if (equal_lr(scheduler_of(with_old_lr, now.length)(step), old_lr)) return "";
  const Scheduler scheduler = scheduler_of(now.experiment, now.length);
  if (equal_lr(scheduler(step), old_lr)) return "";
  return "the schedule \"" + now.experiment.scheduler.name + "\" now covers " + length_text(now) +
         ": lr continues at " + lr_text(scheduler(step)) + " (the old schedule gave " + lr_text(old_lr) +
         " for this step) and ends at " + lr_text(scheduler(now.length.steps - 1));
}

}  // namespace ddp::schedule
