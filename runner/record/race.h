#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "config/load/sweep.h"
#include "config/option/fields.h"

namespace ddp::record {

// race.json: the pairs of a race, and what they prove.
struct Race {
  // The metric of both experiments with one seed.
  struct Pair {
    std::int64_t seed = 0;
    double a = 0;
    double b = 0;
    double difference = 0;  // a - b
    double e = 1;           // evidence of all pairs so far that the mean difference is not 0

    void fields(config::Fields& f);
  };

  std::string metric = {};
  double alpha = 0.05;
  std::vector<Pair> pairs = {};
  std::string winner = {};  // "A" or "B"; empty: undecided
  double mean = 0;          // of the differences
  // The means that the evidence does not exclude; nothing: unbounded.
  std::optional<double> low = {};
  std::optional<double> high = {};

  void fields(config::Fields& f);

  // Adds the next pair, unless there is a winner. `rules`: of the race. `metric`: greater or less is better.
  void add(std::int64_t seed, double a, double b, const config::RaceRules& rules, const config::Metric& metric);
  bool is_undecided() const { return winner.empty(); }
  // Do all differences have one value, which is not 0?
  bool seeds_change_nothing() const;
};

// The JSON Schema of race.json.
config::Value race_schema();

// Reads race.json in the folder of a race; nothing if there is none. Throws ddp::Error (usage) if it is damaged.
std::optional<Race> read_race(const std::filesystem::path& folder);
// Writes it. Throws ddp::Error (training).
void write_race(const std::filesystem::path& folder, const Race& race);

}  // namespace ddp::record
