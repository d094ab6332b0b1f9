#include "record/cross_validation.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "base/student.h"
#include "record/file/atomic_file.h"
#include "record/summary.h"

namespace ddp::record {
namespace fs = std::filesystem;
namespace {

constexpr const char* kCvFile = "cv.json";

}  // namespace

void CrossValidation::Run::fields(config::Fields& f) {
  f({"run", "its folder in runs/"}, run);
  f({"seed"}, seed);
  f({"repeat", "from 0; null: without folds"}, repeat);
  f({"fold", "from 0; null: without folds"}, fold);
  f({"metrics", "of its best checkpoint"}, metrics, schema_of_metrics("train|val|test", false));
}

void CrossValidation::Figure::fields(config::Fields& f) {
  f({"mean"}, mean);
  f({"std", "with n - 1 in the divisor; null for one value"}, std);
  f({"n", "values: with folds those of the folds, averaged over seeds"}, n);
  f({"low", "of the 95 % interval of the mean; null: one value, or folds in an order"}, low);
  f({"high"}, high);
}

void CrossValidation::fields(config::Fields& f) {
  f.version();
  f({"folds", "of a repeat; 0: none"}, folds);
  f({"in_order", "the folds follow a column"}, in_order);
  f({"runs"}, runs);
  f({"metrics", "by name"}, metrics);
}

std::vector<double> CrossValidation::values_of(const std::string& metric) const {
  std::vector<std::pair<std::pair<std::int64_t, std::int64_t>, std::vector<double>>> groups;
  for (const Run& run : runs) {
    const std::pair key{run.repeat.value_or(0), folds > 0 ? run.fold.value_or(0) : std::ssize(groups)};
    auto group = std::find_if(groups.begin(), groups.end(), [&](const auto& one) { return one.first == key; });
    if (group == groups.end()) group = groups.insert(group, {key, {}});
    group->second.push_back(run.metrics.at(metric).get<double>());
  }
  std::vector<double> values;
  for (const auto& [key, of_seeds] : groups) values.push_back(spread_of(of_seeds).mean);
  return values;
}

double CrossValidation::variance_of_mean(std::size_t n) const {
  // Each row is tested once in a repeat, and trained on folds - 1 times.
  return 1 / static_cast<double>(n) + (folds > 0 ? 1 / static_cast<double>(folds - 1) : 0);
}

void CrossValidation::summarise() {
  metrics.clear();
  if (runs.empty()) return;
  for (const auto& [name, value] : runs.front().metrics.items()) {
    const auto has_it = [&name = name](const Run& run) { return run.metrics.value(name, config::Value()).is_number(); };
    if (!std::all_of(runs.begin(), runs.end(), has_it)) continue;
    const std::vector<double> values = values_of(name);
    const Spread spread = spread_of(values);
    Figure figure{.mean = spread.mean, .n = std::ssize(values)};
    if (const auto test = mean_test(values, variance_of_mean(values.size()))) {
      figure.std = spread.deviation;
      if (!in_order) figure.low = test->low;
      if (!in_order) figure.high = test->high;
    }
    metrics.emplace(name, figure);
  }
}

config::Value cv_schema() { return config::output_schema<CrossValidation>("cv.json: the result of a cross-validation"); }

std::optional<CrossValidation> read_cross_validation(const fs::path& folder) {
  std::error_code none;
  return fs::exists(folder / kCvFile, none) ? std::optional(read_kept<CrossValidation>(folder / kCvFile)) : std::nullopt;
}

void write_cross_validation(const fs::path& folder, const CrossValidation& cv) {
  write_atomically(folder / kCvFile, config::written(cv).dump(2) + "\n");
}

}  // namespace ddp::record
