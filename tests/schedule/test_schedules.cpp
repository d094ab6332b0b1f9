#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <fstream>
#include <sstream>

#include "catch.h"
#include "errors.h"
#include "schedule/scheduler.h"
#include "words.h"

namespace ddp::schedule {

TEST_CASE("each scheduler gives the lr of PyTorch's scheduler, step by step") {
  // Torch-free like the schedules: the numbers are stored like the values of tests/values.h.
  std::ifstream file(DDP_SOURCE "/tests/schedule/values/schedules.json");
  const auto cases = config::Value::parse(file);
  REQUIRE(cases.size() >= 60);
  for (const auto& [title, kept] : cases.items()) {
    INFO(title);
    const Horizon horizon{
        .lr = kept.at("lr"), .steps = kept.at("steps"), .steps_per_epoch = kept.at("steps_per_epoch")};
    const Scheduler lr = schedulers().build(kept.at("options").at("name"), kept.at("options"), horizon);
    std::istringstream words(kept.at("rates").get<std::string>());
    std::string word;
    for (std::int64_t step = 0; step < horizon.steps; ++step) {
      REQUIRE(words >> word);
      // PyTorch multiplies from step to step, while these are closed forms.
      const double by_torch = std::strtod(word.c_str(), nullptr);
      CHECK(std::abs(lr(step) - by_torch) <= 1e-12 * std::max(by_torch, horizon.lr));
    }
  }
}

TEST_CASE("multistep changes lr after each milestone, counted from the run's start") {
  const config::Value options = {{"milestones", {3, 5}}, {"gamma", 0.5}, {"warmup_steps", 2}};
  const Scheduler lr = schedulers().build("multistep", options, {.lr = 0.8, .steps = 8});
  const std::vector<double> expected{0.4, 0.8, 0.8, 0.4, 0.4, 0.2, 0.2, 0.2};
  for (std::size_t step = 0; step < expected.size(); ++step) {
    CHECK(lr(static_cast<std::int64_t>(step)) == expected[step]);
  }
  const config::Value wrong = {{"milestones", {5, 3}}};
  CHECK(contains(error_of([&] { schedulers().build("multistep", wrong, {.lr = 1, .steps = 8}); }),
                 "scheduler.milestones: are not in ascending order"));
}

TEST_CASE("a part of the run in epochs is refused if the dataset has none") {
  const config::Value options = {{"warmup", "2 epochs"}};
  const std::string error = error_of([&] { schedulers().build("cosine", options, {.lr = 1, .steps = 8}); });
  CHECK(contains(error, "scheduler.warmup: counts epochs, but the dataset has none"));
}

}  // namespace ddp::schedule
