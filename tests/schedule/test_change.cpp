#include "catch.h"
#include "schedule/change.h"
#include "schedule/scheduler.h"
#include "words.h"

namespace ddp::schedule {
namespace {

config::Experiment experiment(const std::string& scheduler, config::Value options, std::int64_t epochs) {
  config::Experiment e;
  e.optimizer.options = {{"lr", 0.001}};
  e.scheduler.name = scheduler;
  e.scheduler.options = std::move(options);
  e.epochs = epochs;
  return e;
}

// 10 steps per epoch; the run is extended from 4 epochs to 8 after `step` steps.
std::string extended(const std::string& scheduler, const config::Value& options, std::int64_t step) {
  return change_in_words(
      {.experiment = experiment(scheduler, options, 4), .length = {.steps_per_epoch = 10, .steps = 40}},
      {.experiment = experiment(scheduler, options, 8), .length = {.steps_per_epoch = 10, .steps = 80}}, step);
}

}  // namespace

TEST_CASE("a cosine that is made longer raises lr, and the text names the lr before, now and at the end") {
  const std::string text = extended("cosine", {{"min_lr", 1e-5}}, 40);
  INFO(text);
  // Half of the longer cosine is done: lr is the mean of the initial lr and min_lr.
  CHECK(contains(text, "the schedule \"cosine\" now covers 8 epochs (80 steps)"));
  CHECK(contains(text, "lr continues at 0.000505 (the old schedule gave 1e-05 for this step)"));
  const double last = scheduler_of(experiment("cosine", {{"min_lr", 1e-5}}, 8), {.steps = 80})(79);
  CHECK(last < 1.1e-5);
  CHECK(contains(text, "and ends at 1.038e-05"));
}

TEST_CASE("a line that is made longer raises lr too, also inside the run") {
  CHECK(contains(extended("linear", {{"end_factor", 0.0}}, 40), "lr continues at 0.0005 (the old schedule gave 0 "));
  CHECK(contains(extended("linear", {{"end_factor", 0.0}}, 20), "0.00075 (the old schedule gave 0.0005 "));
}

TEST_CASE("schedules that do not depend on the length continue without a message") {
  CHECK(extended("step", {{"step_size", 10}, {"gamma", 0.1}}, 40).empty());
  CHECK(extended("constant", config::Value::object(), 40).empty());
  CHECK(extended("cosine", {{"warmup_steps", 30}}, 10).empty());  // still in the warm-up
}

TEST_CASE("a new scheduler is reported if it gives another lr, while a new lr of the optimizer alone is not") {
  const auto step = experiment("step", {{"step_size", 10}, {"gamma", 0.1}}, 8);
  const auto constant = experiment("constant", config::Value::object(), 8);
  const std::string text =
      change_in_words({.experiment = step, .length = {.steps_per_epoch = 10, .steps = 80}},
                      {.experiment = constant, .length = {.steps_per_epoch = 10, .steps = 80}}, 40);
  CHECK(contains(text, "lr continues at 0.001 (the old schedule gave 1e-07 "));
  CHECK(change_in_words({.experiment = step, .length = {.steps_per_epoch = 10, .steps = 80}},
                        {.experiment = constant, .length = {.steps_per_epoch = 10, .steps = 80}}, 5)
            .empty());
  auto other_lr = step;
  other_lr.optimizer.options["lr"] = 0.5;
  CHECK(change_in_words({.experiment = step, .length = {.steps_per_epoch = 10, .steps = 80}},
                        {.experiment = other_lr, .length = {.steps_per_epoch = 10, .steps = 80}}, 40)
            .empty());
}

}  // namespace ddp::schedule
