#include "datasets/table/encoder.h"

#include <algorithm>
#include <cmath>
#include <limits>

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

constexpr const char* kNames[] = {"none", "standard", "minmax"};

constexpr const char* kTableKind = "table";
constexpr const char* kKinds[] = {"classes", "binary", "numbers"};

// Returns the remedy for text in the column of a target that the loss takes as a number.
std::string if_target_is_text(const Encoder& e) {
  if (e.trained_before) return "the model was trained on a target of numbers";
  return "it is the target, and the loss " + e.loss +
         " needs numbers: " + (e.kind == TargetKind::binary ? "write 1 and 0, or " : "") +
         "give loss = \"cross_entropy\"";
}

}  // namespace

Scale::Kind scale_named(const std::string& name) {
  return name == "standard" ? Scale::Kind::standard : name == "minmax" ? Scale::Kind::minmax : Scale::Kind::none;
}

config::Value to_json(const Scale& scale) {
  return {{"kind", kNames[static_cast<int>(scale.kind)]}, {"shift", scale.shift}, {"factor", scale.factor}};
}

Scale scale_from_json(const config::Value& json) {
  return {.kind = scale_named(json.at("kind").get<std::string>()),
          .shift = json.at("shift").get<double>(),
          .factor = json.at("factor").get<double>()};
}

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

config::Value to_json(const Encoder& e) {
  config::Value features = config::Value::array();
  for (const auto& f : e.features) {
    config::Value one = {{"name", f.name}};
    if (f.is_category) {
      one["categories"] = f.values.names();
    } else {
      one["fill"] = f.fill;
      one["scale"] = to_json(f.scale);
    }
    features.push_back(std::move(one));
  }
  config::Value scales = config::Value::array();
  for (const Scale& scale : e.target_scales) scales.push_back(to_json(scale));
  config::Value json = {{"kind", kTableKind}};
  if (e.version > 1) json["version"] = e.version;
  json.update({{"missing", e.missing},
               {"features", std::move(features)},
               {"targets", e.targets},
               {"target_kind", kKinds[static_cast<int>(e.kind)]},
               {"classes", e.classes.names()},
               {"target_scales", std::move(scales)}});
  if (!e.weights.empty()) json["weights"] = e.weights;
  return json;
}

bool is_table(const config::Value& preprocessing) {
  return preprocessing.is_object() && preprocessing.value("kind", "") == kTableKind;
}

std::vector<Scale> target_scales(const config::Value& preprocessing) {
  if (!is_table(preprocessing)) return {};
  std::vector<Scale> scales = encoder_from_json(preprocessing).target_scales;
  const auto is_scale = [](const Scale& scale) { return scale.kind != Scale::Kind::none; };
  return std::any_of(scales.begin(), scales.end(), is_scale) ? scales : std::vector<Scale>();
}

Encoder encoder_from_json(const config::Value& json) try {
  if (!is_table(json)) {
    throw usage_error("is a table, and the model was trained on data of another kind", "dataset",
                      "give data of the training's kind");
  }
  Encoder e;
  e.version = json.value("version", 1);
  const bool is_first_version = e.version == 1;
  const Equal kNumbers[] = {Equal::numbers_of_version_1, Equal::numbers_of_version_2, Equal::numbers};
  e.missing = json.at("missing").get<std::string>();
  for (const config::Value& one : json.at("features")) {
    Encoder::Feature f;
    f.name = one.at("name").get<std::string>();
    f.is_category = one.contains("categories");
    if (f.is_category) {
      f.values = ValueNames(one.at("categories").get<std::vector<std::string>>(),
                            is_first_version ? Equal::numbers_of_version_1 : Equal::bytes);
    } else {
      f.fill = one.at("fill").get<double>();
      f.scale = scale_from_json(one.at("scale"));
    }
    e.features.push_back(std::move(f));
  }
  e.targets = json.at("targets").get<std::vector<std::string>>();
  e.weights = json.value("weights", "");
  const auto kind = json.at("target_kind").get<std::string>();
  e.kind = kind == kKinds[0] ? TargetKind::classes : kind == kKinds[1] ? TargetKind::binary : TargetKind::numbers;
  e.classes = ValueNames(json.at("classes").get<std::vector<std::string>>(),
                         kNumbers[std::clamp<std::int64_t>(e.version, 1, std::ssize(kNumbers)) - 1]);
  for (const config::Value& one : json.at("target_scales")) e.target_scales.push_back(scale_from_json(one));
  return e;
} catch (const config::Value::exception& error) {
  throw usage_error(std::string("is damaged: ") + error.what(), "preprocessing.json");
}

}  // namespace ddp::datasets
