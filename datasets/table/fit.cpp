#include <algorithm>
#include <array>
#include <cctype>
#include <functional>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/error.h"
#include "base/text_number.h"
#include "config/check/suggest.h"
#include "config/text/source.h"
#include "datasets/table/encoder.h"

namespace ddp::datasets {
namespace {

bool holds(const std::vector<std::string>& names, const std::string& name) {
  return std::find(names.begin(), names.end(), name) != names.end();
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
      if (holds(columns_, name)) continue;
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

  void require_none() const {
    if (text_.empty()) return;
    throw usage_error(text_, key_, unknown_ ? columns_in_words() : "give each column one role");
  }

 private:
  void add(const std::string& key, const std::string& what) {
    text_ += text_.empty() ? what : "\n  " + key + ": " + what;
    if (key_.empty()) key_ = key;
  }

  std::string columns_in_words() const {
    std::string text;
    for (const std::string& name : columns_) text += (text.empty() ? "columns: " : ", ") + config::printable(name);
    return text;
  }

  const std::string file_;
  std::vector<std::string> columns_;
  std::string text_;
  std::string key_;
  bool unknown_ = false;
};

void check_names(const TableSection& o, const std::vector<std::string>& targets,
                 const std::vector<format::ColumnInfo>& columns, const std::string& file) {
  const Named target{.key = "dataset.target", .is_list = o.target.is_array(), .names = targets};
  const Named features{.key = "dataset.features", .names = o.features};
  const Named drop{.key = "dataset.drop", .names = o.drop};
  const Named categories{.key = "dataset.categories", .names = category_columns(o)};
  const Named dates{.key = "dataset.dates", .names = o.dates};
  WrongNames wrong(columns, file);
  const Named weights{.key = "dataset.weights",
                      .names = o.weights.empty() ? std::vector<std::string>() : std::vector{o.weights}};
  for (const Named* const option : {&target, &features, &drop, &categories, &dates, &weights}) {
    wrong.require_there(*option);
  }
  for (const Named* const option : {&target, &features, &categories, &dates, &drop}) {
    wrong.require_apart(weights, *option, "");
  }
  wrong.require_apart(dates, categories, ": a date is no category");
  wrong.require_apart(dates, target, ": a target is no date");
  wrong.require_apart(features, target, ": the model must not see what it predicts");
  wrong.require_apart(categories, target, ": a target of classes needs no category, only a loss for classes");
  wrong.require_apart(drop, features, "");
  wrong.require_none();
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

using format::ColumnCells;

// `value_of`: of the number in a cell.
template <class ValueOf>
ColumnFit fit_numbers(const Table& table, std::size_t column, const std::vector<bool>& mask, const ValueOf& value_of) {
  ColumnFit fitted;
  each_cell(table, column, mask,
            [&](const ColumnCells& cells, std::int64_t r) { fitted.add(value_of(cells.numbers[r])); });
  fitted.end_first_pass();
  each_cell(table, column, mask,
            [&](const ColumnCells& cells, std::int64_t r) { fitted.add_deviation(value_of(cells.numbers[r])); });
  return fitted;
}

void fit_input(Encoder::Input& input, const Table& table, std::size_t column, const std::vector<bool>& mask,
               Scale::Kind kind, bool fills_mean) {
  const auto value_of = [&input](double cell) { return input.value_of(cell); };
  const ColumnFit fitted = fit_numbers(table, column, mask, value_of);
  if (fills_mean) input.fill = fitted.mean();
  if (kind != Scale::Kind::quantile) {
    input.scale = fitted.scale(kind);
    return;
  }
  std::vector<double> values;
  each_cell(table, column, mask,
            [&](const ColumnCells& cells, std::int64_t r) { values.push_back(value_of(cells.numbers[r])); });
  input.scale = quantile_scale(values, std::count(mask.begin(), mask.end(), true));
}

// One thread handles a whole input, so the order of its sums does not depend on the number of threads. `work` is done
// at the same time.
void fit_inputs(Encoder& e, const Table& table, const std::vector<bool>& mask, Scale::Kind kind,
                const std::function<void()>& work) {
  const bool fills_mean = e.missing == "mean";
  std::vector<std::pair<Encoder::Input*, std::size_t>> inputs;  // with their columns
  for (std::size_t i = 0; i < e.features.size(); ++i) {
    if (e.features[i].is_category() || (kind == Scale::Kind::none && !fills_mean)) continue;
    for (Encoder::Input& input : e.features[i].inputs) inputs.emplace_back(&input, i);
  }
  table.together(std::ssize(inputs) + 1, [&](std::int64_t i) {
    if (i == std::ssize(inputs)) return work();
    const auto [input, column] = inputs[static_cast<std::size_t>(i)];
    fit_input(*input, table, column, mask, kind, fills_mean);
  });
}

// Returns the parts of a date that vary in the masked rows, behind its days.
std::vector<Encoder::Input> parts_in(const Table& table, std::size_t column, const std::vector<bool>& mask) {
  std::vector<Encoder::Input> parts{{.part = DatePart::days}};
  for (const DatePart name : {DatePart::year, DatePart::month, DatePart::day, DatePart::weekday, DatePart::hour}) {
    std::optional<double> first;
    bool varies = false;
    each_cell(table, column, mask, [&](const ColumnCells& cells, std::int64_t r) {
      if (varies) return;
      const double value = part_of(name, cells.numbers[r]);
      varies = first && *first != value;
      first = value;
    });
    if (varies) parts.push_back({.part = name});
  }
  return parts;
}

bool has_gap(const Table& table, std::size_t column, const std::vector<bool>& mask) {
  bool found = false;
  table.each(column, [&](const ColumnCells& cells, std::int64_t rows, std::int64_t first_row) {
    for (std::int64_t r = 0; !found && cells.valid != nullptr && r < rows; ++r) {
      found = mask[static_cast<std::size_t>(first_row + r)] && cells.is_missing(r);
    }
  });
  return found;
}

ValueNames distinct(const Table& table, std::size_t column, const std::vector<bool>& mask, Equal equal) {
  ValueNames values;
  each_cell(table, column, mask, [&](const ColumnCells& cells, std::int64_t r) { values.add(cells.text_of(r)); });
  return values.sorted(equal);
}

// Throws if classes are numbers that no double tells apart, such as 1e400 and 1e401.
void require_distinct_numbers(const Encoder& e, const Table& table, const std::vector<bool>& mask) {
  const auto is_number = [](const std::string& name) { return parse_number(name).has_value(); };
  if (!std::all_of(e.classes.names().begin(), e.classes.names().end(), is_number)) return;
  Mistakes mistakes;
  table.each(e.features.size(), [&](const ColumnCells& cells, std::int64_t rows, std::int64_t first_row) {
    for (std::int64_t r = 0; r < rows; ++r) {
      const std::int64_t row = first_row + r;
      if (!mask[static_cast<std::size_t>(row)] || cells.is_missing(r) || !is_out_of_range(cells.text_of(r))) continue;
      mistakes.add(row, e.targets.front(),
                   {.one = "is " + std::string(cells.text_of(r)) + ", which is out of the range of numbers",
                    .many = "are out of the range of numbers",
                    .remedy = "give such classes names"});
    }
  });
  mistakes.require_none(table);
}

}  // namespace

void leave_out_missing(const Table& table, const std::vector<Encoder::Feature>& features, std::vector<bool>& mask) {
  table.each_of(features.size(),
                [&](std::size_t column, const ColumnCells& cells, std::int64_t rows, std::int64_t first_row) {
                  if (features[column].blank_is_value) return;
                  for (std::int64_t r = 0; cells.valid != nullptr && r < rows; ++r) {
                    if (cells.is_missing(r)) mask[static_cast<std::size_t>(first_row + r)] = false;
                  }
                });
}

namespace {

// Throws if no complete row is left: a run would end at once, without a step.
void require_rows(const std::vector<bool>& mask) {
  if (std::find(mask.begin(), mask.end(), true) != mask.end()) return;
  throw usage_error("leaves no sample to train on: each row for training has a missing cell", "dataset.missing",
                    "use \"mean\" or \"zero\", or leave the incomplete columns out with dataset.drop");
}

void fit_targets(Encoder& e, const Table& table, const std::vector<bool>& mask, const TableSection& options) {
  const std::size_t first = e.features.size();
  if (e.kind == TargetKind::classes) {
    e.classes = e.given_classes.empty() ? distinct(table, first, mask, Equal::numbers) : ValueNames(e.given_classes);
    if (e.given_classes.empty() && !e.classes.is_numeric()) require_distinct_numbers(e, table, mask);
  }
  positive_class(options.positive, e.classes);
  if (e.kind == TargetKind::classes) return;
  e.target_scales.assign(e.targets.size(), {});
  if (e.kind != TargetKind::numbers) return;
  for (std::size_t i = 0; i < e.targets.size(); ++i) {
    const auto value_of = [&options](double cell) { return apply(options.target_transform, cell); };
    if (options.normalise_targets) {
      e.target_scales[i] = fit_numbers(table, first + i, mask, value_of).scale(Scale::Kind::standard);
    }
    e.target_scales[i].transform = options.target_transform;
  }
}

constexpr std::int64_t kManyValues = 20;  // fewer may be the classes of a tiny table

// Facts about the numbers of a column.
struct Numbers {
  bool are_none = true;
  bool count_rows = true;  // each one is one more than the one before
  std::optional<double> last = {};

  void add(double number) {
    count_rows = count_rows && (are_none || number == *last + 1);
    are_none = false;
    last = number;
  }
};

std::vector<Numbers> look_at_numbers(const Table& table, const std::vector<Encoder::Feature>& features) {
  std::vector<Numbers> all(features.size());
  table.each_of(features.size(), [&](std::size_t column, const ColumnCells& cells, std::int64_t rows, std::int64_t) {
    if (features[column].is_category()) return;
    for (std::int64_t r = 0; (all[column].are_none || all[column].count_rows) && r < rows; ++r) {
      if (!cells.is_missing(r)) all[column].add(cells.numbers[r]);
    }
  });
  return all;
}

// Throws if the one column is a line whose cells another character separates.
void require_separated(const std::vector<format::ColumnInfo>& columns, const std::string& file) {
  const std::size_t at = columns.size() == 1 ? columns.front().name.find_first_of(";|\t") : std::string::npos;
  if (at == std::string::npos) return;
  const std::string character = columns.front().name[at] == '\t' ? "\\t" : std::string(1, columns.front().name[at]);
  throw usage_error("has one column, " + config::in_quotes(columns.front().name), file,
                    "name the character between its cells: dataset.delimiter = \"" + character + "\"");
}

// Names that programs and people give to the number of a row.
bool may_be_an_id(const std::string& name) {
  static constexpr std::array kNamesOfIds = {"id", "index", "row", "row_id", "rownum"};
  std::string lower = name;
  std::transform(lower.begin(), lower.end(), lower.begin(), [](unsigned char c) { return std::tolower(c); });
  return std::find(kNamesOfIds.begin(), kNamesOfIds.end(), lower) != kNamesOfIds.end();
}

}  // namespace

Encoder choose_columns(const TableSection& o, const std::vector<format::ColumnInfo>& columns, const std::string& loss,
                       const std::string& file) {
  Encoder e;
  e.missing = o.missing;
  e.are_indices = o.encode == "index";
  e.weights = o.weights;
  e.kind = is_loss_of_graph(loss) && !o.classes.empty() ? TargetKind::classes : target_kind(loss);
  e.targets = one_or_more(o.target, "dataset.target");
  require_separated(columns, file);
  for (auto target = e.targets.begin(); target != e.targets.end(); ++target) {
    if (std::find(e.targets.begin(), target, *target) == target) continue;
    throw usage_error("names column " + config::in_quotes(*target) + " twice", "dataset.target",
                      "name each column once");
  }
  check_names(o, e.targets, columns, file);
  if (e.kind == TargetKind::classes && e.targets.size() != 1) {
    throw usage_error("the loss \"" + loss + "\" takes one column of classes, not " + std::to_string(e.targets.size()),
                      "dataset.target", "name one column; loss = \"mse\" takes several columns of numbers");
  }
  for (const auto& column : columns) {
    const bool chosen = o.features.empty() || holds(o.features, column.name);
    if (!chosen || holds(o.drop, column.name) || holds(e.targets, column.name)) continue;
    if (!e.weights.empty() && column.name == e.weights) continue;
    if (o.features.empty() && is_index(column.name, &column == &columns.front()))
      refuse_index(column.name, o.drop, file);
    Encoder::Feature feature;
    feature.name = column.name;
    if (holds(o.dates, column.name)) feature.kind = Encoder::Feature::Kind::date;
    if (holds(category_columns(o), column.name)) feature.kind = Encoder::Feature::Kind::category;
    feature.blank_is_value = feature.is_category() && o.missing_categories == "value";
    e.features.push_back(std::move(feature));
  }
  if (e.features.empty()) throw usage_error("leaves no column to predict from", file, "see dataset.features and drop");
  return e;
}

Encoder encoder_for(const TableSection& options, const std::vector<format::ColumnInfo>& columns, const Context& context,
                    const std::string& file) {
  Encoder e = context.preprocessing.is_null() ? choose_columns(options, columns, context.loss, file)
                                              : encoder_from_json(context.preprocessing);
  e.loss = context.loss;
  e.given_classes = given_classes(options);
  e.trained_before = context.trained_before;
  return e;
}

config::Value facts_of(const Encoder& e) {
  config::Value facts = {{"in_features", e.width()}, {"out_features", e.targets.size()}};
  if (e.kind == TargetKind::classes) facts["num_classes"] = e.classes.size();
  return facts;
}

std::string id_column(const Encoder& e, const std::vector<format::ColumnInfo>& columns) {
  for (const auto& column : columns) {
    const bool is_feature = std::any_of(e.features.begin(), e.features.end(),
                                        [&](const Encoder::Feature& feature) { return feature.name == column.name; });
    if (is_feature || holds(e.targets, column.name) || column.name == e.weights) continue;
    if (is_index(column.name, &column == &columns.front()) || may_be_an_id(column.name)) return column.name;
  }
  return "";
}

void fit(Encoder& e, const Table& table, const at::Tensor& rows, const TableSection& options) {
  std::vector<bool> mask = mask_of(rows, table.rows);
  if (e.missing == "drop") {
    leave_out_missing(table, e.features, mask);
    require_rows(mask);
  }
  table.together(std::ssize(e.features), [&](std::int64_t at) {
    const auto i = static_cast<std::size_t>(at);
    Encoder::Feature& feature = e.features[i];
    if (feature.is_category()) {
      const std::vector<std::string> given = given_categories(options, feature.name);
      feature.values = given.empty() ? distinct(table, i, mask, Equal::bytes) : ValueNames(given, Equal::bytes);
      return;
    }
    if (feature.kind == Encoder::Feature::Kind::date) feature.inputs = parts_in(table, i, mask);
    feature.indicator = options.missing_indicator && !e.refuses_missing(feature) && has_gap(table, i, mask);
  });
  if (e.width() + e.index_width() == 0)
    throw usage_error("have no value in the training rows: no input is left", "dataset.categories");
  fit_inputs(e, table, mask, options.normalise, [&] { fit_targets(e, table, mask, options); });
}

std::vector<bool> mask_of(const at::Tensor& rows, std::int64_t size) {
  std::vector<bool> mask(static_cast<std::size_t>(size));
  const std::int64_t* row = rows.const_data_ptr<std::int64_t>();
  for (std::int64_t i = 0; i < rows.numel(); ++i) {
    if (row[i] < size) mask[static_cast<std::size_t>(row[i])] = true;
  }
  return mask;
}

ValueNames distinct_values(const Table& table, std::size_t column, const at::Tensor& rows) {
  return distinct(table, column, mask_of(rows, table.rows), Equal::numbers);
}

at::Tensor numbers_of(const Table& table, std::size_t column, const ValueNames& values) {
  at::Tensor numbers = at::empty({table.rows}, at::kLong);
  std::int64_t* next = numbers.mutable_data_ptr<std::int64_t>();
  table.each(column, [&](const ColumnCells& cells, std::int64_t rows, std::int64_t) {
    for (std::int64_t r = 0; r < rows; ++r) *next++ = cells.is_missing(r) ? -1 : values.find(cells.text_of(r));
  });
  return numbers;
}

std::vector<std::string> warnings_of_fit(const Encoder& e, const Table& table, std::int64_t rows) {
  const auto are_too_many = [&](const ValueNames& values) {
    return values.size() >= kManyValues && values.size() * 2 > rows;
  };
  const auto counts = [&](const ValueNames& values) {
    return std::to_string(values.size()) + " values in " + std::to_string(rows) + " training rows";
  };
  std::vector<std::string> warnings;
  if (e.kind == TargetKind::classes && e.given_classes.empty() && are_too_many(e.classes)) {
    warnings.push_back("the target \"" + e.targets.front() + "\" has " + counts(e.classes) + "" +
                       (e.classes.is_numeric() ? "; to predict a number, give loss = \"mse\"" : ""));
  }
  if (e.kind == TargetKind::classes && e.classes.size() == 1) {
    warnings.push_back("the target \"" + e.targets.front() + "\" has one value in all training rows, \"" +
                       e.classes.names().front() + "\": there is nothing to tell apart");
  }
  const std::vector<Numbers> numbers = look_at_numbers(table, e.features);
  for (std::size_t i = 0; i < e.features.size(); ++i) {
    const std::string column = "the column \"" + e.features[i].name + "\"";
    const bool is_csv = table.how && table.how->format == "csv";
    if (e.features[i].is_category() && is_csv && e.features[i].values.find("") >= 0) {
      warnings.push_back(column + " has empty cells, which are a category of their own: \"\" is not in " +
                         "dataset.missing_values");
    }
    if (e.features[i].is_category()) continue;
    if (numbers[i].are_none) {
      warnings.push_back(column + " has no value in any row; leave it out with dataset.drop");
    } else if (may_be_an_id(e.features[i].name) && numbers[i].count_rows && table.rows >= kManyValues) {
      warnings.push_back(column + " counts the rows, which says nothing about other rows; leave it out with " +
                         "dataset.drop = [\"" + e.features[i].name + "\"]");
    }
  }
  return warnings;
}

void warn_of_groups(const Encoder& e, const Table& table,
                    const std::function<Table(const format::WantedColumn& column)>& texts_of,
                    std::vector<std::string>& warnings) {
  if (!table.how || table.how->format != "csv" || !table.how->numbers.is_usual()) return;
  const std::vector<format::WantedColumn> columns = e.wanted(/*with_targets=*/true);
  std::vector<char> may_be(columns.size());
  table.together(std::ssize(columns), [&](std::int64_t at) {
    const auto i = static_cast<std::size_t>(at);
    may_be[i] = columns[i].type == format::CellType::number && may_be_grouped(table, i) ? 1 : 0;
  });
  for (std::size_t i = 0; i < columns.size(); ++i) {
    if (may_be[i] == 0) continue;
    const std::string grouped = grouped_number(texts_of({.name = columns[i].name, .type = format::CellType::text}));
    if (grouped.empty()) continue;
    warnings.push_back("the column \"" + columns[i].name + "\": \"" + grouped +
                       "\" is read with a decimal point; if its points group thousands, remove them from the file");
  }
}

}  // namespace ddp::datasets
