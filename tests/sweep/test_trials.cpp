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

TEST_CASE("trials rank by the metric alone, at any rung and for any reason of their end") {
  CHECK(ranking_of({finished(3, 0.9, "patience"), paused(3, 0.5), paused(1, 0.4), finished(9, 0.3)}) ==
        std::vector<int>{3, 2, 1, 0});
  CHECK(ranking_of({finished(3, 0.2, "patience"), paused(3, 0.5), paused(1, 0.2), finished(9, 0.3)}) ==
        std::vector<int>{0, 2, 3, 1});
}

}  // namespace ddp::sweep
