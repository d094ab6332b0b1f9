#include "datasets/table/encoder.h"

#include <algorithm>
#include <string>
#include <utility>

#include <ATen/ops/arange.h>

#include "config/data_description.h"
#include "datasets/histogram.h"

namespace ddp::datasets {
namespace {

using config::Value;

constexpr std::int64_t kRowsShown = 20;
// Limits of the report of a table with very many columns.
constexpr std::size_t kColumnsShown = 100;
constexpr std::size_t kHistograms = 1000;
constexpr std::size_t kLongestCell = 80;  // bytes
constexpr std::size_t kValuesListed = 50;
constexpr std::size_t kValuesDrawn = 20;

// Returns a cell for the report. A cell that is too long is cut, at the beginning of a UTF-8 character.
std::string shortened(std::string_view text) {
  if (text.size() <= kLongestCell) return std::string(text);
  std::size_t end = kLongestCell;
  while (end > 0 && (static_cast<unsigned char>(text[end]) & 0xC0) == 0x80) --end;
  return std::string(text.substr(0, end)) + "…";
}

Value first_of(const std::vector<std::string>& names, std::size_t most) {
  Value listed = Value::array();
  for (std::size_t i = 0; i < std::min(most, names.size()); ++i) listed.push_back(shortened(names[i]));
  return listed;
}

const char* type_of_target(TargetKind kind) {
  return kind == TargetKind::classes ? "class" : kind == TargetKind::binary ? "binary" : "number";
}

// Returns the first rows of the files: a list of cells for each row; a missing cell is null.
Value cells_before(const std::vector<std::filesystem::path>& files, const format::TableOptions& how,
                   std::vector<format::WantedColumn> wanted) {
  for (auto& column : wanted) column.type = format::CellType::text;
  Value rows = Value::array();
  for (const auto& path : files) {
    const auto file = format::open_table(path, how);
    file->read(wanted);
    for (format::TableChunk chunk; std::ssize(rows) < kRowsShown && file->next(chunk);) {
      for (std::int64_t r = 0; r < chunk.rows && std::ssize(rows) < kRowsShown; ++r) {
        Value row = Value::array();
        for (const auto& cells : chunk.columns) {
          row.push_back(cells.is_missing(r) ? Value() : Value(shortened(cells.text_of(r))));
        }
        rows.push_back(std::move(row));
      }
    }
    if (std::ssize(rows) >= kRowsShown) break;
  }
  return rows;
}

// Returns the names of the encoded columns, inputs first.
std::vector<std::string> encoded_names(const Encoder& e) {
  std::vector<std::string> names;
  for (const auto& feature : e.features) {
    if (feature.is_category()) {
      if (e.are_indices) continue;
      for (const auto& value : feature.values.names()) names.push_back(feature.name + " = " + value);
      if (feature.blank_is_value) names.push_back(feature.name + " is blank");
      continue;
    }
    for (const Encoder::Input& input : feature.inputs) {
      names.push_back(feature.name + (input.part ? std::string(" ") + config::name_of(*input.part) : ""));
    }
    if (feature.indicator) names.push_back(feature.name + " is missing");
  }
  for (const auto& feature : e.features) {
    if (feature.is_category() && e.are_indices) names.push_back(feature.name);
  }
  names.insert(names.end(), e.targets.begin(), e.targets.end());
  return names;
}

// Returns the numbers of the first rows, up to kColumnsShown columns.
Value numbers_after(const MapDataset& encoded, std::int64_t rows) {
  const Batch batch = encoded.gather(at::arange(rows, at::kLong), /*epoch=*/0);
  std::vector<at::Tensor> parts = tensors_of(batch.inputs);
  parts.push_back(batch.targets.front().second.reshape({rows, -1}));
  Value after = Value::array();
  for (std::int64_t r = 0; r < rows; ++r) {
    Value row = Value::array();
    for (const at::Tensor& part : parts) {
      for (std::int64_t c = 0; c < part.size(1) && row.size() < kColumnsShown; ++c) {
        row.push_back(number_text(part[r][c]));
      }
    }
    after.push_back(std::move(row));
  }
  return after;
}

Value first_rows(const Encoder& e, const std::vector<std::filesystem::path>& files, const format::TableOptions& how,
                 const MapDataset& encoded) {
  std::vector<format::WantedColumn> wanted = e.wanted(/*with_targets=*/true);
  std::vector<std::string> names;
  for (const auto& column : wanted) names.push_back(column.name);
  const auto left_out = [](const auto& all) { return all.size() - std::min(all.size(), kColumnsShown); };
  const std::vector<std::string> after = encoded_names(e);
  Value rows = {{"columns", first_of(names, kColumnsShown)},
                {"columns_left_out", left_out(names)},
                {"encoded", first_of(after, kColumnsShown)},
                {"encoded_left_out", left_out(after)}};
  wanted.resize(std::min(wanted.size(), kColumnsShown));
  rows["before"] = cells_before(files, how, std::move(wanted));
  rows["after"] = numbers_after(encoded, std::min(encoded.size(), std::ssize(rows["before"])));
  return rows;
}

Value histogram_of(const Table& table, std::size_t column, const std::vector<bool>& trains) {
  Histogram histogram;
  each_cell(table, column, trains, [&](const auto& cells, std::int64_t r) { histogram.widen(cells.numbers[r]); });
  each_cell(table, column, trains, [&](const auto& cells, std::int64_t r) { histogram.add(cells.numbers[r]); });
  return histogram.to_json();
}

// Returns the most frequent values. Equally frequent values keep the order of `names`.
Value frequent_names(const Table& table, std::size_t column, const std::vector<bool>& trains, const ValueNames& names) {
  std::vector<std::pair<std::int64_t, std::size_t>> counts;
  for (std::size_t i = 0; i < names.names().size(); ++i) counts.emplace_back(0, i);
  each_cell(table, column, trains, [&](const auto& cells, std::int64_t r) {
    const std::int64_t value = names.find(cells.text_of(r));
    if (value >= 0) --counts[static_cast<std::size_t>(value)].first;
  });
  std::sort(counts.begin(), counts.end());
  Value values = Value::array();
  for (std::size_t i = 0; i < std::min(kValuesDrawn, counts.size()); ++i) {
    values.push_back({{"value", shortened(names.names()[counts[i].second])}, {"count", -counts[i].first}});
  }
  return {{"values", std::move(values)}, {"value_count", counts.size()}};
}

std::int64_t count_missing(const Table& table, std::size_t column) {
  std::int64_t missing = 0;
  for (const Table::Piece& piece : table.pieces) {
    const format::ColumnCells& cells = piece.chunk.columns[column];
    for (std::int64_t r = 0; cells.valid != nullptr && r < piece.chunk.rows; ++r) missing += cells.is_missing(r);
  }
  return missing;
}

Value histograms(const Encoder& e, const std::vector<std::filesystem::path>& files, const format::TableOptions& how,
                 const at::Tensor& training) {
  std::vector<format::WantedColumn> wanted = e.wanted(/*with_targets=*/true);
  wanted.resize(std::min(wanted.size(), kHistograms));
  const Table table = read_table(files, how, wanted);
  // The table may have changed since the encoding: then some rows may be missing.
  const std::vector<bool> trains = mask_of(training, table.rows);
  Value all = Value::array();
  for (std::size_t i = 0; i < wanted.size(); ++i) {
    const ValueNames& names = i < e.features.size() ? e.features[i].values : e.classes;
    Value one = wanted[i].type == format::CellType::text ? frequent_names(table, i, trains, names)
                                                         : histogram_of(table, i, trains);
    one.update({{"name", shortened(wanted[i].name)}, {"missing", count_missing(table, i)}});
    all.push_back(std::move(one));
  }
  return all;
}

}  // namespace

at::Tensor missing_cells(const Table& table, std::size_t columns) {
  std::vector<std::int64_t> missing(columns);
  table.each_of(columns, [&](std::size_t c, const format::ColumnCells& cells, std::int64_t rows, std::int64_t) {
    for (std::int64_t r = 0; cells.valid != nullptr && r < rows; ++r) missing[c] += cells.is_missing(r);
  });
  return at::tensor(missing, at::kLong);
}

config::DatasetDescription describe_table(const Encoder& e, std::int64_t rows, const at::Tensor& missing) {
  std::vector<config::ColumnDescription> columns;
  const auto* cells = missing.const_data_ptr<std::int64_t>();
  constexpr const char* names_of_kinds[] = {"number", "date", "category"};
  for (const auto& feature : e.features) {
    config::ColumnDescription column{.name = feature.name,
                                     .role = "feature",
                                     .type = names_of_kinds[static_cast<std::size_t>(feature.kind)],
                                     .missing = *cells++};
    if (feature.is_category()) {
      column.values = first_of(feature.values.names(), kValuesListed);
      column.value_count = feature.values.size();
    }
    columns.push_back(std::move(column));
  }
  for (const auto& name : e.targets) {
    columns.push_back({.name = name, .role = "target", .type = type_of_target(e.kind), .missing = *cells++});
  }
  if (!e.weights.empty()) {
    columns.push_back({.name = e.weights, .role = "weights", .type = "number", .missing = *cells++});
  }
  config::DatasetDescription description{.rows = rows, .columns = std::move(columns)};
  if (e.kind == TargetKind::classes) description.classes = e.classes.names();
  return description;
}

Value preview_table(const Encoder& e, const std::vector<std::filesystem::path>& files, const format::TableOptions& how,
                    const MapDataset& encoded, const at::Tensor& training) {
  const std::size_t columns = e.features.size() + e.targets.size();
  return {{"rows", first_rows(e, files, how, encoded)},
          {"histograms", histograms(e, files, how, training)},
          {"histograms_left_out", columns - std::min(columns, kHistograms)}};
}

}  // namespace ddp::datasets
