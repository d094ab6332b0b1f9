#include "datasets/table/encoder.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <optional>
#include <utility>

#include <ATen/native/Math.h>

#include "base/error.h"
#include "base/text_date.h"
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

namespace {

constexpr std::int64_t kMostQuantiles = 1000;
constexpr double kBound = 1e-7;  // BOUNDS_THRESHOLD of sklearn/preprocessing/_data.py

// numpy.linspace(0, 1, count)[i].
double place_in_line(std::size_t i, std::size_t count) {
  if (i == 0) return 0;
  return i + 1 == count ? 1 : static_cast<double>(i) * (1 / static_cast<double>(count - 1));
}

// numpy.interp of `at` between equally long, ascending `from` and what `to` gives for their places.
template <class To>
double interpolated(double at, const std::vector<double>& from, const To& to) {
  if (at <= from.front()) return to(0);
  if (at >= from.back()) return to(from.size() - 1);
  const auto above = std::upper_bound(from.begin(), from.end(), at);
  const auto place = static_cast<std::size_t>(above - from.begin()) - 1;
  const double slope = (to(place + 1) - to(place)) / (from[place + 1] - from[place]);
  return slope * (at - from[place]) + to(place);
}

}  // namespace

double Scale::normal_of(double value) const {
  const auto share_at = [this](std::size_t i) { return place_in_line(i, quantiles.size()); };
  const double below = interpolated(value, quantiles, share_at);
  // scikit-learn takes the mean of an interpolation from either side: equal quantiles have the share of their middle.
  const auto same = std::equal_range(quantiles.begin(), quantiles.end(), value);
  const double above =
      same.second - same.first > 1 ? share_at(static_cast<std::size_t>(same.first - quantiles.begin())) : below;
  double share = 0.5 * (below + above);
  if (value + kBound > quantiles.back()) share = 1;
  if (value - kBound < quantiles.front()) share = 0;
  static const double kLeast = calc_ndtri(kBound - std::numeric_limits<double>::epsilon());
  static const double kMost = calc_ndtri(1 - (kBound - std::numeric_limits<double>::epsilon()));
  return std::clamp(calc_ndtri(share), kLeast, kMost);
}

void Scale::fields(config::Fields& f) {
  f({.name = "kind"}, kind);
  f({.name = "shift"}, shift);
  f({.name = "factor"}, factor);
  f({.name = "quantiles", .optional = true}, quantiles);
  std::optional<TargetTransform> changed = transform == TargetTransform::none ? std::nullopt : std::optional(transform);
  f({.name = "transform", .optional = true}, changed);
  if (f.reads()) transform = changed.value_or(TargetTransform::none);
}

Scale quantile_scale(std::vector<double>& values, std::int64_t rows) {
  if (values.empty()) return {};
  std::sort(values.begin(), values.end());
  const auto count = static_cast<std::size_t>(std::min(kMostQuantiles, rows));
  Scale scale{.kind = Scale::Kind::quantile};
  for (std::size_t i = 0; i < count; ++i) {
    // numpy.nanpercentile of 100 times the shares, method "linear".
    const double place = place_in_line(i, count) * 100 / 100 * static_cast<double>(values.size() - 1);
    const auto low = static_cast<std::size_t>(place);
    const double rest = place - static_cast<double>(low);
    const double a = values[low], b = values[std::min(low + 1, values.size() - 1)];
    const double quantile = rest < 0.5 ? a + (b - a) * rest : b - (b - a) * (1 - rest);
    scale.quantiles.push_back(i == 0 ? quantile : std::max(quantile, scale.quantiles.back()));
  }
  return scale;
}

TargetKind target_kind(const std::string& loss) {
  if (loss == "cross_entropy" || loss == "nll") return TargetKind::classes;
  return loss == "bce_with_logits" ? TargetKind::binary : TargetKind::numbers;
}

std::int64_t Encoder::width_of(const Feature& feature) const {
  if (feature.is_category()) return are_indices ? 0 : feature.names();
  return std::ssize(feature.inputs) + (feature.indicator ? 1 : 0);
}

std::int64_t Encoder::width() const {
  std::int64_t sum = 0;
  for (const Feature& feature : features) sum += width_of(feature);
  return sum;
}

std::int64_t Encoder::index_width() const {
  if (!are_indices) return 0;
  return std::count_if(features.begin(), features.end(), [](const Feature& one) { return one.is_category(); });
}

std::vector<EncodedColumns> encoded_columns(const Encoder& encoder) {
  std::vector<EncodedColumns> all;
  std::int64_t number = 0, index = 0;
  for (const Encoder::Feature& feature : encoder.features) {
    const bool is_index = encoder.are_indices && feature.is_category();
    std::int64_t& begin = is_index ? index : number;
    const std::int64_t count = is_index ? 1 : encoder.width_of(feature);
    all.push_back({.name = feature.name,
                   .is_category = feature.is_category(),
                   .input = is_index && encoder.width() > 0 ? 1U : 0U,
                   .begin = begin,
                   .count = count});
    begin += count;
  }
  return all;
}

bool Encoder::refuses_missing(const Feature& feature) const {
  if (feature.blank_is_value) return false;
  if (missing == "drop") return keeps_rows;
  return missing == "error" && !feature.is_category();
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
  constexpr CellType kTypes[] = {CellType::number, CellType::date, CellType::text};
  std::vector<format::WantedColumn> columns;
  for (const Feature& f : features) {
    columns.push_back({.name = f.name,
                       .type = kTypes[static_cast<std::size_t>(f.kind)],
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

void Encoder::Input::fields(config::Fields& f) {
  f({.name = "part", .optional = true}, part);
  f({.name = "fill"}, fill);
  f({.name = "scale"}, scale);
}

// A column of numbers has its one input among its own members.
void Encoder::Feature::fields(config::Fields& f) {
  std::optional<std::vector<std::string>> categories;
  if (is_category()) categories = values.names();
  std::vector<Input> parts = kind == Kind::date ? inputs : std::vector<Input>();
  f({.name = "name"}, name);
  f({.name = "categories", .optional = true}, categories);
  f({.name = "blank_is_value", .optional = true}, blank_is_value);
  f({.name = "parts", .optional = true}, parts);
  f({.name = "indicator", .optional = true}, indicator);
  if (f.reads()) kind = categories ? Kind::category : parts.empty() ? Kind::number : Kind::date;
  if (f.reads() && is_category()) values = ValueNames(std::move(*categories), Equal::bytes);
  if (f.reads() && kind == Kind::date) inputs = std::move(parts);
  if (kind != Kind::number) return;
  f({.name = "fill"}, inputs.front().fill);
  f({.name = "scale"}, inputs.front().scale);
}

void Encoder::fields(config::Fields& f) {
  std::optional<std::int64_t> later_version;  // version 1 did not write it
  if (!f.reads() && version > 1) later_version = version;
  std::vector<std::string> names = classes.names();
  f({.name = "kind"}, kTableKind);
  f({.name = "version", .optional = true}, later_version);
  f({.name = "missing"}, missing);
  f({.name = "are_indices", .optional = true}, are_indices);
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
  const auto is_scale = [](const Scale& scale) { return scale.changes_values(); };
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
