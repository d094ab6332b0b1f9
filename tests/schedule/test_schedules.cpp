#include <cmath>
#include <cstdlib>
#include <fstream>
#include <sstream>

#include "catch.h"
#include "schedule/scheduler.h"

namespace ddp::schedule {

TEST_CASE("each scheduler gives the lr that PyTorch's gives, step by step") {
  // Torch-free, as schedules are: the numbers are kept as those of tests/values.h are.
  std::ifstream file(DDP_SOURCE "/tests/schedule/values/schedules.json");
  const auto cases = config::Value::parse(file);
  REQUIRE(cases.size() == 8);
  for (const auto& [title, kept] : cases.items()) {
    INFO(title);
    const Horizon horizon{.lr = kept.at("lr"), .steps = kept.at("steps")};
    const Scheduler lr = schedulers().build(kept.at("options").at("name"), kept.at("options"), horizon);
    std::istringstream words(kept.at("rates").get<std::string>());
    std::string word;
    for (std::int64_t step = 0; step < horizon.steps; ++step) {
      REQUIRE(words >> word);
      // PyTorch multiplies from step to step where these are closed forms.
      CHECK(std::abs(lr(step) - std::strtod(word.c_str(), nullptr)) < 1e-12 * horizon.lr);
    }
  }
}

}  // namespace ddp::schedule
