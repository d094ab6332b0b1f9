#include "datasets/table/encoder.h"

#include <algorithm>

#include "base/error.h"
#include "config/text/source.h"
#include "format/delimiter.h"

namespace ddp::datasets {
namespace {

constexpr const char* kTableKind = "table";
constexpr const char* kKinds[] = {"classes", "binary", "numbers"};

bool holds(const std::vector<std::string>& names, const std::string& name) {
  return std::find(names.begin(), names.end(), name) != names.end();
}

std::vector<std::string> texts_of(const config::Value& one_or_more) {
  if (one_or_more.is_string()) return {one_or_more.get<std::string>()};
  return one_or_more.get<std::vector<std::string>>();
}

// Returns a remedy for an unknown column: the columns of the file, and a hint if the delimiter looks wrong.
std::string columns_in_words(const std::vector<format::ColumnInfo>& columns, const format::TableOptions& how,
                             const std::string& file) {
  std::string text;
  for (const auto& column : columns) text += (text.empty() ? "columns: " : ", ") + config::printable(column.name);
  const std::string hint = format::delimiter_hint(columns, how, file);
  return hint.empty() ? text : text + "\n  " + hint;
}

void require_columns(const std::vector<std::string>& names, const std::vector<format::ColumnInfo>& columns,
                     const char* option, const format::TableOptions& how, const std::string& file) {
  for (const std::string& name : names) {
    const bool there = std::any_of(columns.begin(), columns.end(), [&](const auto& c) { return c.name == name; });
    if (there) continue;
    throw usage_error("has no column \"" + name + "\", which dataset." + option + " names", file,
                      columns_in_words(columns, how, file));
  }
}

}  // namespace

TargetKind target_kind(const std::string& loss) {
  if (loss == "cross_entropy" || loss == "nll") return TargetKind::classes;
  return loss == "bce_with_logits" ? TargetKind::binary : TargetKind::numbers;
}

std::int64_t Encoder::width() const {
  std::int64_t sum = 0;
  for (const Feature& feature : features) sum += feature.width();
  return sum;
}

std::vector<format::WantedColumn> Encoder::wanted(bool with_targets) const {
  using format::CellType;
  std::vector<format::WantedColumn> columns;
  for (const Feature& f : features) {
    columns.push_back({.name = f.name, .type = f.is_category ? CellType::text : CellType::number});
  }
  if (!with_targets) return columns;
  for (const std::string& name : targets) {
    columns.push_back({.name = name, .type = kind == TargetKind::classes ? CellType::text : CellType::number});
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
  return {{"kind", kTableKind},
          {"missing", e.missing},
          {"features", std::move(features)},
          {"targets", e.targets},
          {"target_kind", kKinds[static_cast<int>(e.kind)]},
          {"classes", e.classes.names()},
          {"target_scales", std::move(scales)}};
}

bool is_table(const config::Value& preprocessing) {
  return preprocessing.is_object() && preprocessing.value("kind", "") == kTableKind;
}

Encoder encoder_from_json(const config::Value& json) try {
  Encoder e;
  e.missing = json.at("missing").get<std::string>();
  for (const config::Value& one : json.at("features")) {
    Encoder::Feature f;
    f.name = one.at("name").get<std::string>();
    f.is_category = one.contains("categories");
    if (f.is_category) {
      f.values = ValueNames(one.at("categories").get<std::vector<std::string>>());
    } else {
      f.fill = one.at("fill").get<double>();
      f.scale = scale_from_json(one.at("scale"));
    }
    e.features.push_back(std::move(f));
  }
  e.targets = json.at("targets").get<std::vector<std::string>>();
  const auto kind = json.at("target_kind").get<std::string>();
  e.kind = kind == kKinds[0] ? TargetKind::classes : kind == kKinds[1] ? TargetKind::binary : TargetKind::numbers;
  e.classes = ValueNames(json.at("classes").get<std::vector<std::string>>());
  for (const config::Value& one : json.at("target_scales")) e.target_scales.push_back(scale_from_json(one));
  return e;
} catch (const config::Value::exception& error) {
  throw usage_error(std::string("is damaged: ") + error.what(), "preprocessing.json");
}

Encoder choose_columns(const TableSection& o, const std::vector<format::ColumnInfo>& columns, const std::string& loss,
                       const format::TableOptions& how, const std::string& file) {
  Encoder e{.missing = o.missing,
            .features = {},
            .kind = target_kind(loss),
            .targets = texts_of(o.target),
            .classes = {},
            .classes_given = false,
            .target_scales = {}};
  if (e.targets.empty()) throw usage_error("is empty", "dataset.target", "name the column to predict");
  require_columns(e.targets, columns, "target", how, file);
  require_columns(o.features, columns, "features", how, file);
  require_columns(o.drop, columns, "drop", how, file);
  require_columns(o.categories, columns, "categories", how, file);
  if (e.kind == TargetKind::classes && e.targets.size() != 1) {
    throw usage_error("the loss \"" + loss + "\" takes one column of classes, not " + std::to_string(e.targets.size()),
                      "dataset.target");
  }
  for (const auto& column : columns) {
    const bool chosen = o.features.empty() || holds(o.features, column.name);
    if (!chosen || holds(o.drop, column.name) || holds(e.targets, column.name)) continue;
    Encoder::Feature feature;
    feature.name = column.name;
    feature.is_category = holds(o.categories, column.name);
    e.features.push_back(std::move(feature));
  }
  if (e.features.empty()) throw usage_error("leaves no column to predict from", file, "see dataset.features and drop");
  return e;
}

}  // namespace ddp::datasets
