#include <algorithm>
#include <utility>

#include "base/error.h"
#include "config/check/phrases.h"
#include "config/text/source.h"
#include "datasets/table/encoder.h"
#include "format/header_hint.h"

namespace ddp::datasets {
namespace {

bool holds(const std::vector<std::string>& names, const std::string& name) {
  return std::find(names.begin(), names.end(), name) != names.end();
}

std::vector<std::string> texts_of(const config::Value& one_or_more) {
  if (one_or_more.is_string()) return {one_or_more.get<std::string>()};
  return one_or_more.get<std::vector<std::string>>();
}

// An option that names columns; `key` is the place of its first name if it is no list.
struct Named {
  std::string key;
  bool is_list = true;
  std::vector<std::string> names;

  std::string key_of(std::size_t i) const { return is_list ? key + "[" + std::to_string(i) + "]" : key; }
};

// Collects the mistakes in the names of columns, to report them in one error. A line after the first one begins with
// the key of its option, which the parent replaces by the key's place.
class WrongNames {
 public:
  WrongNames(const std::vector<format::ColumnInfo>& columns, const std::string& file) : file_(file) {
    for (const auto& column : columns) columns_.push_back(column.name);
  }

  void require_there(const Named& option) {
    for (std::size_t i = 0; i < option.names.size(); ++i) {
      const std::string& name = option.names[i];
      if (holds(columns_, name)) {
        none_is_there_ = false;
        continue;
      }
      unknown_ = true;
      const std::string near = config::nearest(name, columns_);
      add(option.key_of(i), file_ + " has no column " + config::in_quotes(name) + ", which " + option.key + " names" +
                                (near.empty() ? "" : "; did you mean " + config::in_quotes(near) + "?"));
    }
  }

  // Reports the names of `option` that `other` names too.
  void require_apart(const Named& option, const Named& other, const std::string& why) {
    for (std::size_t i = 0; i < option.names.size(); ++i) {
      const std::string& name = option.names[i];
      if (!holds(other.names, name)) continue;
      add(option.key_of(i),
          "column " + config::in_quotes(name) + " is in " + option.key + " and in " + other.key + why);
    }
  }

  void require_none(const std::vector<format::ColumnInfo>& columns, const format::TableOptions& how) const {
    if (text_.empty()) return;
    throw usage_error(text_, key_, unknown_ ? columns_in_words(columns, how) : "give each column one role");
  }

 private:
  void add(const std::string& key, const std::string& what) {
    text_ += text_.empty() ? what : "\n  " + key + ": " + what;
    if (key_.empty()) key_ = key;
  }

  // Returns a remedy for an unknown column: the columns of the file, and a hint if its first line looks wrong.
  std::string columns_in_words(const std::vector<format::ColumnInfo>& columns, const format::TableOptions& how) const {
    std::string text;
    for (const std::string& name : columns_) text += (text.empty() ? "columns: " : ", ") + config::printable(name);
    const std::string hint = how.header ? format::header_hint(columns, how, file_, "", none_is_there_)
                                        : "dataset.header = false gives the columns these numbers as names: leave it "
                                          "out if line 1 of the file has their names";
    return hint.empty() ? text : text + "\n  " + hint;
  }

  const std::string file_;
  std::vector<std::string> columns_;
  std::string text_;
  std::string key_;
  bool unknown_ = false;
  bool none_is_there_ = true;  // no column that an option names is in the file
};

void check_names(const TableSection& o, const std::vector<std::string>& targets,
                 const std::vector<format::ColumnInfo>& columns, const format::TableOptions& how,
                 const std::string& file) {
  const Named target{.key = "dataset.target", .is_list = o.target.is_array(), .names = targets};
  const Named features{.key = "dataset.features", .names = o.features};
  const Named drop{.key = "dataset.drop", .names = o.drop};
  const Named categories{.key = "dataset.categories", .names = o.categories};
  WrongNames wrong(columns, file);
  for (const Named* const option : {&target, &features, &drop, &categories}) wrong.require_there(*option);
  wrong.require_apart(features, target, ": the model must not see what it predicts");
  wrong.require_apart(categories, target, ": a target of classes needs no category, only a loss for classes");
  wrong.require_apart(drop, features, "");
  wrong.require_none(columns, how);
}

// Is it a column of pandas' index, which numbers the rows? pandas reads a first column without a name as "Unnamed: 0".
bool is_index(const std::string& name, bool is_first) {
  return (is_first && (name.empty() || name == "Unnamed: 0")) || name.starts_with("__index_level_");
}

[[noreturn]] void refuse_index(const std::string& name, const std::vector<std::string>& drop, const std::string& file) {
  std::string left_out;
  for (const std::string& one : drop) left_out += config::in_quotes(one) + ", ";
  left_out += config::in_quotes(name);
  throw usage_error(name.empty() ? "the first column has no name, as the index that pandas writes"
                                 : "column " + config::in_quotes(name) + " is the index that pandas wrote",
                    file,
                    "leave it out with dataset.drop = [" + left_out + "], or name the columns to predict from in " +
                        "dataset.features");
}

}  // namespace

Encoder choose_columns(const TableSection& o, const std::vector<format::ColumnInfo>& columns, const std::string& loss,
                       const format::TableOptions& how, const std::string& file) {
  Encoder e;
  e.missing = o.missing;
  e.kind = target_kind(loss);
  e.targets = texts_of(o.target);
  if (e.targets.empty()) throw usage_error("is empty", "dataset.target", "name the column to predict");
  check_names(o, e.targets, columns, how, file);
  if (e.kind == TargetKind::classes && e.targets.size() != 1) {
    throw usage_error("the loss \"" + loss + "\" takes one column of classes, not " + std::to_string(e.targets.size()),
                      "dataset.target", "name one column; loss = \"mse\" takes several columns of numbers");
  }
  for (const auto& column : columns) {
    const bool chosen = o.features.empty() || holds(o.features, column.name);
    if (!chosen || holds(o.drop, column.name) || holds(e.targets, column.name)) continue;
    if (o.features.empty() && is_index(column.name, &column == &columns.front()))
      refuse_index(column.name, o.drop, file);
    Encoder::Feature feature;
    feature.name = column.name;
    feature.is_category = holds(o.categories, column.name);
    e.features.push_back(std::move(feature));
  }
  if (e.features.empty()) throw usage_error("leaves no column to predict from", file, "see dataset.features and drop");
  return e;
}

}  // namespace ddp::datasets
