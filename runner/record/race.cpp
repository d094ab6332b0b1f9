#include "record/race.h"

#include <algorithm>

#include "base/student.h"
#include "record/file/atomic_file.h"

namespace ddp::record {
namespace fs = std::filesystem;
namespace {

constexpr const char* kRaceFile = "race.json";

}  // namespace

void Race::Pair::fields(config::Fields& f) {
  f({"seed"}, seed);
  f({"a"}, a);
  f({"b"}, b);
  f({"difference", "a - b"}, difference);
  f({"e", "evidence of the pairs so far that the mean difference is not 0"}, e);
}

void Race::fields(config::Fields& f) {
  f.version();
  f({"metric"}, metric);
  f({"alpha", "the race is decided when the evidence reaches 1 / alpha"}, alpha);
  f({"pairs", "in the order of seeds"}, pairs);
  f({.name = "winner", .doc = "null: undecided", .choices = {"A", "B"}, .may_be_null = true}, winner);
  f({"mean", "of the differences"}, mean);
  f({"low", "least mean that the evidence does not exclude; null: unbounded"}, low);
  f({"high"}, high);
}

void Race::add(std::int64_t seed, double a, double b, const config::RaceRules& rules, const config::Metric& better) {
  if (!is_undecided()) return;
  pairs.push_back({.seed = seed, .a = a, .b = b, .difference = a - b});
  std::vector<double> differences;
  for (const Pair& pair : pairs) differences.push_back(pair.difference);
  mean = spread_of(differences).mean;
  pairs.back().e = evidence_of_mean(differences);
  const auto bounds = means_within(differences, rules.alpha);
  low = bounds ? std::optional(bounds->low) : std::nullopt;
  high = bounds ? std::optional(bounds->high) : std::nullopt;
  if (std::ssize(pairs) < rules.min_seeds || pairs.back().e < rules.enough_evidence()) return;
  winner = better.cost(mean) < 0 ? "A" : "B";
}

bool Race::seeds_change_nothing() const {
  return pairs.size() > 1 && pairs.front().difference != 0 &&
         std::all_of(pairs.begin(), pairs.end(),
                     [&](const Pair& pair) { return pair.difference == pairs.front().difference; });
}

config::Value race_schema() { return config::output_schema<Race>("race.json: the pairs of a race, and its winner"); }

std::optional<Race> read_race(const fs::path& folder) {
  std::error_code none;
  return fs::exists(folder / kRaceFile, none) ? std::optional(read_kept<Race>(folder / kRaceFile)) : std::nullopt;
}

void write_race(const fs::path& folder, const Race& race) {
  write_atomically(folder / kRaceFile, config::written(race).dump(2) + "\n");
}

}  // namespace ddp::record
