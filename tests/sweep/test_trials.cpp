#include "catch.h"
#include "sweep/trials.h"

namespace ddp::sweep {
namespace {

config::Sweep sweep_of(int trials) {
  config::Parameter parameter{.key = "seed"};
  for (int i = 0; i < trials; ++i) parameter.choices.push_back({.kind = config::Type::integer, .scalar = i});
  return {.metric = {.name = "val_loss"}, .parameters = {parameter}};
}

// Event i belongs to trial i. Returns the numbers of the trials, best first.
std::vector<int> ranking_of(std::vector<Event> events) {
  const config::Sweep sweep = sweep_of(static_cast<int>(events.size()));
  const auto search = search::methods().build("grid", config::Value::object(), {.parameters = sweep.parameters});
  Trials trials(sweep, *search);
  for (int i = 0; i < static_cast<int>(events.size()); ++i) {
    events[static_cast<std::size_t>(i)].trial = i;
    trials.take(events[static_cast<std::size_t>(i)]);
  }
  std::vector<int> numbers;
  for (const Trial* trial : trials.ranking()) numbers.push_back(trial->number);
  return numbers;
}

Event finished(std::int64_t epochs, double metric, const std::string& stopped_by = "") {
  return {.kind = "finished", .epochs = epochs, .metric = metric, .stopped_by = stopped_by};
}
Event paused(std::int64_t epochs, double metric) { return {.kind = "paused", .epochs = epochs, .metric = metric}; }

}  // namespace

TEST_CASE("a trial that a rule ended ranks below a paused one that is better and trained as long") {
  CHECK(ranking_of({finished(3, 0.9, "patience"), paused(3, 0.5), paused(1, 0.4), finished(9, 0.3)}) ==
        std::vector<int>{3, 1, 0, 2});
  CHECK(ranking_of({finished(3, 0.2, "patience"), paused(3, 0.5), paused(1, 0.4), finished(9, 0.3)}) ==
        std::vector<int>{0, 3, 1, 2});
  // A paused trial that trained less may still get worse.
  CHECK(ranking_of({finished(3, 0.9, "max_time"), paused(1, 0.5)}) == std::vector<int>{0, 1});
}

TEST_CASE("trials that reach their end rank by the metric alone, for any reason of their end") {
  CHECK(ranking_of({finished(9, 0.5), finished(4, 0.6, "patience"), finished(3, 0.4, "patience")}) ==
        std::vector<int>{2, 0, 1});
  // At its last epoch a trial stays above all paused ones.
  CHECK(ranking_of({paused(3, 0.1), finished(9, 0.9)}) == std::vector<int>{1, 0});
}

}  // namespace ddp::sweep
