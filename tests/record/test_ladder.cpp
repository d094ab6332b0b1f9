#include <algorithm>
#include <optional>
#include <random>
#include <set>
#include <vector>

#include "catch.h"
#include "record/saves/checkpoint_index.h"
#include "record/saves/retention.h"
#include "scratch_folder.h"
#include "started_run.h"

namespace ddp::record {
namespace {

using Steps = std::vector<std::int64_t>;  // newest first

// How many of these steps are in the range [spacing * 2^k, spacing * 2^(k + 1)) behind the newest one?
std::size_t in_range(const Steps& steps, std::int64_t newest, std::int64_t spacing, int k) {
  return static_cast<std::size_t>(std::count_if(steps.begin(), steps.end(), [&](std::int64_t step) {
    const std::int64_t age = newest - step;
    return age >= spacing << k && age < spacing << (k + 1);
  }));
}

// Saves at random steps, whose smallest distance, `spacing`, comes first; after each, only what the ladder keeps stays.
void climb(std::mt19937& draw, std::int64_t spacing, std::int64_t longest, int saves) {
  Steps all{spacing, 0}, kept = all;
  for (int i = 0; i < saves; ++i) {
    const std::int64_t next = all.front() + std::uniform_int_distribution<std::int64_t>(spacing, longest)(draw);
    all.insert(all.begin(), next);
    kept.insert(kept.begin(), next);
    const std::set<std::int64_t> on = on_ladder(kept, spacing);
    std::erase_if(kept, [&](std::int64_t step) { return !on.contains(step); });
    REQUIRE(kept.front() == next);
    for (int k = 0; spacing << k <= next; ++k) {
      REQUIRE(in_range(kept, next, spacing, k) <= 2);
      REQUIRE((in_range(kept, next, spacing, k) >= 1) == (in_range(all, next, spacing, k) >= 1));
    }
  }
}

}  // namespace

TEST_CASE("one or two checkpoints stay in each range in which a run has saved, whatever its saves") {
  std::mt19937 draw(1);
  for (int i = 0; i < 1000; ++i) {
    const std::int64_t spacing = std::uniform_int_distribution<std::int64_t>(1, 50)(draw);
    const std::int64_t factor = std::uniform_int_distribution<std::int64_t>(1, 40)(draw);
    climb(draw, spacing, spacing * factor, 60);
  }
}

TEST_CASE("a run that saves regularly has a checkpoint in each range that it has reached") {
  Steps kept;
  for (std::int64_t step = 7; step <= 7 * 2000; step += 7) {
    kept.insert(kept.begin(), step);
    const std::set<std::int64_t> on = on_ladder(kept, 7);
    std::erase_if(kept, [&](std::int64_t one) { return !on.contains(one); });
    for (int k = 0; 7 << k <= step - 7; ++k) REQUIRE(in_range(kept, step, 7, k) >= 1);
  }
  CHECK(kept.size() <= 2 * 11 + 1);
}

TEST_CASE("the ladder keeps the best checkpoint too") {
  const ScratchFolder scratch;
  for (std::int64_t step = 1; step <= 40; ++step) {
    saved(scratch.folder(), step, step == 17 ? "0.1" : "0.5");
    retain(scratch.folder(), std::nullopt, 1);
  }
  std::vector<std::int64_t> steps;
  for (const auto& folder : complete_checkpoints(scratch.folder())) steps.push_back(step_of(folder));
  CHECK(std::count(steps.begin(), steps.end(), 17) == 1);
  std::erase(steps, 17);
  CHECK(steps.front() == 40);
  for (int k = 0; k < 6; ++k) {
    CHECK(in_range(steps, 40, 1, k) >= 1);
    CHECK(in_range(steps, 40, 1, k) <= 2);
  }
}

}  // namespace ddp::record
