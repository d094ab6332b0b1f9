#include "record/cross_validation.h"

#include <algorithm>
#include <tuple>
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
  f({.name = "held_out",
     .doc = "the same in runs that are measured on the same rows; null: not known",
     .may_be_null = true},
    held_out);
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
  if (folds == 0) return 1 / static_cast<double>(n);
  // Test rows to training rows: each row is tested once in a repeat, and trained on folds - 1 times; in an order, fold
  // i is as long as the rows before the first one, and trained on i times as many.
  const auto k = static_cast<double>(folds);
  return 1 / static_cast<double>(n) + (in_order ? 2 / (k + 1) : 1 / (k - 1));
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

void PairedDifference::fields(config::Fields& f) {
  f({"metric"}, metric);
  f({"mean", "of A - B"}, mean);
  f({"low", "of the 95 % interval of the mean"}, low);
  f({"high"}, high);
  f({"p", "probability of a difference at least as large, if the true one is 0"}, p);
  f({"n"}, n);
}

Pairing pair(const CrossValidation& a, const CrossValidation& b) {
  if (a.folds != b.folds || a.in_order != b.in_order || a.runs.size() != b.runs.size())
    return {.refusal = "they have other folds or another number of seeds"};
  CrossValidation difference = a;
  for (CrossValidation::Run& run : difference.runs) {
    const auto other = std::find_if(b.runs.begin(), b.runs.end(), [&](const auto& one) {
      return std::tie(one.seed, one.repeat, one.fold) == std::tie(run.seed, run.repeat, run.fold);
    });
    if (other == b.runs.end()) return {.refusal = "they have other seeds"};
    if (run.held_out != other->held_out) return {.refusal = "they were not measured on the same rows"};
    for (auto metric = run.metrics.begin(); metric != run.metrics.end();) {
      const config::Value theirs = other->metrics.value(metric.key(), config::Value());
      if (metric->is_number() && theirs.is_number()) {
        *metric = metric->get<double>() - theirs.get<double>();
        ++metric;
      } else {
        metric = run.metrics.erase(metric);
      }
    }
  }
  difference.summarise();
  Pairing pairing;
  for (const auto& [name, figure] : difference.metrics) {
    const std::vector<double> values = difference.values_of(name);
    const auto test = mean_test(values, difference.variance_of_mean(values.size()));
    if (!test) return {.refusal = "a single pair proves nothing"};
    pairing.metrics.push_back(
        {.metric = name, .mean = test->mean, .low = test->low, .high = test->high, .p = test->p, .n = figure.n});
  }
  return pairing;
}

config::Value cv_schema() {
  return config::output_schema<CrossValidation>("cv.json: the result of a cross-validation");
}

std::optional<CrossValidation> read_cross_validation(const fs::path& folder) {
  std::error_code none;
  return fs::exists(folder / kCvFile, none) ? std::optional(read_kept<CrossValidation>(folder / kCvFile))
                                            : std::nullopt;
}

void write_cross_validation(const fs::path& folder, const CrossValidation& cv) {
  write_atomically(folder / kCvFile, config::written(cv).dump(2) + "\n");
}

}  // namespace ddp::record
