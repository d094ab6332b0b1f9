#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "config/option/fields.h"
#include "record/metrics/metric_values.h"

namespace ddp::record {

// cv.json: the result of a cross-validation, all of whose runs have completed.
struct CrossValidation {
  struct Run {
    std::string run = {};  // the name of its folder
    std::int64_t seed = 0;
    std::optional<std::int64_t> repeat = {};  // with folds
    std::optional<std::int64_t> fold = {};
    std::string held_out = {};                        // hash of the rows that were measured; empty: unknown
    config::Value metrics = config::Value::object();  // of its best checkpoint, by name

    void fields(config::Fields& f);
  };
  // A metric over all runs. With folds the value of a fold is first averaged over its seeds.
  struct Figure {
    double mean = 0;
    std::optional<double> std = {};  // n - 1 in the divisor; nothing for one value
    std::int64_t n = 0;              // values
    std::optional<double> low = {};  // the 95 % interval of the mean; nothing for one value, and for folds in an order,
    std::optional<double> high = {};  // whose training sets are nested

    void fields(config::Fields& f);
  };

  std::int64_t folds = 0;  // of a repeat; 0: the runs differ in their seeds alone
  bool in_order = false;   // the folds follow a column
  std::vector<Run> runs = {};
  std::map<std::string, Figure, MetricOrder> metrics = {};  // that each run has

  void fields(config::Fields& f);

  // The values of a metric that each run has, by (repeat, fold), averaged over seeds; without folds those of the seeds.
  std::vector<double> values_of(const std::string& metric) const;
  // The variance of a mean of n values as a share of the variance of one: with folds corrected by Nadeau and Bengio
  // (2003), because training sets overlap.
  double variance_of_mean(std::size_t n) const;
  // Fills in `metrics`.
  void summarise();
};

// The difference A - B of a metric of two cross-validations, over pairs of runs with the same seed and the same fold.
struct PairedDifference {
  std::string metric = {};
  double mean = 0;
  double low = 0;  // of the 95 % interval
  double high = 0;
  double p = 1;        // of a difference at least as large if there is none
  std::int64_t n = 0;  // values, as of Figure

  void fields(config::Fields& f);
};
struct Pairing {
  std::vector<PairedDifference> metrics = {};  // that both have
  std::string refusal = {};                    // why the runs do not pair; empty: they do
};
Pairing pair(const CrossValidation& a, const CrossValidation& b);

// The JSON Schema of cv.json.
config::Value cv_schema();

// Reads cv.json in the folder of a cross-validation; nothing if there is none. Throws ddp::Error (usage) if it is
// damaged.
std::optional<CrossValidation> read_cross_validation(const std::filesystem::path& folder);
// Writes it. Throws ddp::Error (training).
void write_cross_validation(const std::filesystem::path& folder, const CrossValidation& cv);

}  // namespace ddp::record
