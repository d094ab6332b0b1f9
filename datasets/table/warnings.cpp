#include <algorithm>
#include <array>
#include <cctype>
#include <optional>
#include <string>
#include <vector>

#include "datasets/table/encoder.h"

namespace ddp::datasets {
namespace {

using format::ColumnCells;

constexpr std::int64_t kManyValues = 20;  // fewer values may be the classes of a tiny table

// Calls `visit` with each present number of a column, in the order of the rows, until it returns false. Returns whether
// it always returned true.
template <class Visit>
bool all_numbers(const Table& table, std::size_t column, const Visit& visit) {
  for (const Table::Piece& piece : table.pieces) {
    const ColumnCells& cells = piece.chunk.columns[column];
    for (std::int64_t r = 0; r < piece.chunk.rows; ++r) {
      if (!cells.is_missing(r) && !visit(cells.numbers[r])) return false;
    }
  }
  return true;
}

bool holds_nothing(const Table& table, std::size_t column) {
  return all_numbers(table, column, [](double) { return false; });
}

// Is each number one more than the number before it?
bool counts_rows(const Table& table, std::size_t column) {
  std::optional<double> before;
  const bool counts = all_numbers(table, column, [&](double number) {
    const bool follows = !before || number == *before + 1;
    before = number;
    return follows;
  });
  return counts && table.rows >= kManyValues;
}

// Names that programs and people give to the number of a row.
bool may_be_an_id(const std::string& name) {
  static constexpr std::array kNamesOfIds = {"id", "index", "row", "row_id", "rownum"};
  std::string lower = name;
  std::transform(lower.begin(), lower.end(), lower.begin(), [](unsigned char c) { return std::tolower(c); });
  return std::find(kNamesOfIds.begin(), kNamesOfIds.end(), lower) != kNamesOfIds.end();
}

}  // namespace

std::vector<std::string> warnings_of_fit(const Encoder& e, const Table& table, const TableSection& options,
                                         std::int64_t rows) {
  const auto are_too_many = [&](const ValueNames& values) {
    return values.size() >= kManyValues && values.size() * 2 > rows;
  };
  const auto counts = [&](const ValueNames& values) {
    return std::to_string(values.size()) + " values in " + std::to_string(rows) + " training rows";
  };
  std::vector<std::string> warnings;
  if (e.kind == TargetKind::classes && e.given_classes.empty() && are_too_many(e.classes)) {
    warnings.push_back("the target \"" + e.targets.front() + "\" has " + counts(e.classes) +
                       ", and each is a class of its own" +
                       (e.classes.is_numeric() ? "; to predict a number, give loss = \"mse\"" : ""));
  }
  if (e.kind == TargetKind::classes && e.classes.size() == 1) {
    warnings.push_back("the target \"" + e.targets.front() + "\" has one value in all training rows, \"" +
                       e.classes.names().front() + "\": there is nothing to tell apart");
  }
  for (std::size_t i = 0; i < e.features.size(); ++i) {
    if (e.features[i].is_category) continue;
    const std::string column = "the column \"" + e.features[i].name + "\"";
    if (holds_nothing(table, i)) {
      warnings.push_back(column + " has no value in any row; leave it out with dataset.drop");
    } else if (may_be_an_id(e.features[i].name) && counts_rows(table, i)) {
      warnings.push_back(column + " counts the rows, which says nothing about other rows; leave it out with " +
                         "dataset.drop = [\"" + e.features[i].name + "\"]");
    }
  }
  for (const Encoder::Feature& feature : e.features) {
    if (!feature.is_category || !are_too_many(feature.values)) continue;
    warnings.push_back("the category \"" + feature.name + "\" has " + counts(feature.values) +
                       ", from which a model hardly learns; leave it out with dataset.drop");
  }
  for (const std::string& name : options.categories) {
    const auto& names = options.features;
    if (std::find(options.drop.begin(), options.drop.end(), name) != options.drop.end()) {
      warnings.push_back("the category \"" + name + "\" has no effect: dataset.drop leaves it out");
      continue;
    }
    if (names.empty() || std::find(names.begin(), names.end(), name) != names.end()) continue;
    warnings.push_back("the category \"" + name + "\" has no effect: dataset.features does not name it");
  }
  return warnings;
}

}  // namespace ddp::datasets
