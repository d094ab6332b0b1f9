#include "datasets/table/encoder.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <optional>
#include <utility>

#include "base/error.h"
#include "datasets/table/scaler.h"

namespace ddp::datasets {
namespace {

constexpr double kEpsilon = std::numeric_limits<double>::epsilon();

// scikit-learn's _is_constant_feature: true if the variance may be nothing but rounding errors.
bool is_constant(double variance, double mean, double count) {
  const double rounding = count * mean * kEpsilon;
  return variance <= count * kEpsilon * variance + rounding * rounding;
}

constexpr const char* kTableKind = "table";

// Returns the remedy for text in the column of a target that the loss takes as a number.
std::string if_target_is_text(const Encoder& e) {
  if (e.trained_before) return "the model was trained on a target of numbers";
  return "it is the target, and the loss " + e.loss +
         " needs numbers: " + (e.kind == TargetKind::binary ? "write 1 and 0, or " : "") +
         "give loss = \"cross_entropy\"";
}

}  // namespace

Scale ColumnFit::scale(Scale::Kind kind) const {
  if (kind == Scale::Kind::none || count_ == 0) return {};
  const auto count = static_cast<double>(count_);
  if (kind == Scale::Kind::standard) {
    const double variance = (squares_ - deviations_ * deviations_ / count) / count;
    return {.kind = kind, .shift = mean_, .factor = is_constant(variance, mean_, count) ? 1.0 : std::sqrt(variance)};
  }
  const double range = most_ - least_;
  const double factor = 1.0 / (range < 10 * kEpsilon ? 1.0 : range);
  return {.kind = kind, .shift = 0.0 - least_ * factor, .factor = factor};
}

TargetKind target_kind(const std::string& loss) {
  if (loss == "cross_entropy" || loss == "nll") return TargetKind::classes;
  return loss == "bce_with_logits" ? TargetKind::binary : TargetKind::numbers;
}

std::int64_t Encoder::width() const {
  std::int64_t sum = 0;
  for (const Feature& feature : features) sum += feature.width();
  return sum;
}

bool Encoder::refuses_missing(const Feature& feature) const {
  if (missing == "drop") return keeps_rows;
  return missing == "error" && !feature.is_category;
}

std::string Encoder::if_missing() const {
  if (keeps_rows && missing == "drop") {
    return "fill these cells in the file, or remove their rows: the model was trained without such rows";
  }
  if (trained_before) return "fill these cells in the file, or train again with dataset.missing = \"mean\" or \"zero\"";
  return "fill such cells with dataset.missing = \"mean\" or \"zero\", or remove their rows with \"drop\"";
}

std::vector<format::WantedColumn> Encoder::wanted(bool with_targets) const {
  using format::CellType;
  std::vector<format::WantedColumn> columns;
  for (const Feature& f : features) {
    columns.push_back({.name = f.name,
                       .type = f.is_category ? CellType::text : CellType::number,
                       .if_text = trained_before ? "correct these cells: the model was trained on numbers" : "",
                       .if_missing = refuses_missing(f) ? if_missing() : ""});
  }
  if (!with_targets) return columns;
  for (const std::string& name : targets) {
    columns.push_back({.name = name,
                       .type = kind == TargetKind::classes ? CellType::text : CellType::number,
                       .never_missing = given_classes,
                       .if_text = if_target_is_text(*this),
                       .if_missing = "remove the rows without a target"});
  }
  if (!weights.empty()) {
    columns.push_back({.name = weights,
                       .type = CellType::number,
                       .if_text = "give numbers from 0 as weights",
                       .if_missing = "give each row a weight; 0 leaves it out of the loss"});
  }
  return columns;
}

void Encoder::Feature::fields(config::Fields& f) {
  std::optional<std::vector<std::string>> categories;
  if (is_category) categories = values.names();
  f({.name = "name"}, name);
  f({.name = "categories", .optional = true}, categories);
  if (f.reads()) is_category = categories.has_value();
  if (f.reads() && is_category) values = ValueNames(std::move(*categories), Equal::bytes);
  if (is_category) return;
  f({.name = "fill"}, fill);
  f({.name = "scale"}, scale);
}

void Encoder::fields(config::Fields& f) {
  std::optional<std::int64_t> later_version;  // version 1 did not write it
  if (!f.reads() && version > 1) later_version = version;
  std::vector<std::string> names = classes.names();
  f({.name = "kind"}, kTableKind);
  f({.name = "version", .optional = true}, later_version);
  f({.name = "missing"}, missing);
  f({.name = "features"}, features);
  f({.name = "targets"}, targets);
  f({.name = "target_kind"}, kind);
  f({.name = "classes"}, names);
  f({.name = "target_scales"}, target_scales);
  f({.name = "weights", .optional = true}, weights);
  if (!f.reads()) return;
  version = later_version.value_or(1);
  constexpr Equal kNumbers[] = {Equal::numbers_of_version_1, Equal::numbers_of_version_2, Equal::numbers};
  classes = ValueNames(std::move(names), kNumbers[std::clamp<std::int64_t>(version, 1, std::ssize(kNumbers)) - 1]);
  for (Feature& feature : features) {
    if (version == 1) feature.values = ValueNames(feature.values.names(), Equal::numbers_of_version_1);
  }
}

bool is_table(const config::Value& preprocessing) {
  return preprocessing.is_object() && preprocessing.value("kind", config::Value()) == kTableKind;
}

std::vector<Scale> target_scales(const config::Value& preprocessing) {
  if (!is_table(preprocessing)) return {};
  std::vector<Scale> scales = encoder_from_json(preprocessing).target_scales;
  const auto is_scale = [](const Scale& scale) { return scale.kind != Scale::Kind::none; };
  return std::any_of(scales.begin(), scales.end(), is_scale) ? scales : std::vector<Scale>();
}

Encoder encoder_from_json(const config::Value& json) {
  if (!is_table(json)) {
    throw usage_error("is a table, and the model was trained on data of another kind", "dataset",
                      "give data of the training's kind");
  }
  try {
    return config::read_written<Encoder>(json);
  } catch (const Error& error) {
    throw usage_error("is damaged: " + error.summary(), "preprocessing.json");
  }
}

}  // namespace ddp::datasets
