#include "tables/jsonl_mistakes.h"

#include <stdexcept>
#include <string>

#include "config/text/json_text.h"
#include "tables/batches.h"
#include "tables/cell.h"
#include "tables/jsonl_lines.h"
#include "tables/mistakes.h"

namespace ddp::tables {
namespace {

std::string kind_of(arrow::Type::type type) {
  switch (type) {
    case arrow::Type::BOOL:
      return "true or false";
    case arrow::Type::INT64:
      return "a whole number";
    case arrow::Type::DOUBLE:
      return "a number";
    case arrow::Type::LIST:
      return "a list";
    case arrow::Type::STRUCT:
      return "an object";
    default:
      return "text";
  }
}

arrow::Type::type type_of(const nlohmann::json& cell) {
  if (cell.is_null()) return arrow::Type::NA;
  if (cell.is_boolean()) return arrow::Type::BOOL;
  if (cell.is_number()) return cell.is_number_float() ? arrow::Type::DOUBLE : arrow::Type::INT64;
  if (cell.is_string()) return arrow::Type::STRING;
  return cell.is_array() ? arrow::Type::LIST : arrow::Type::STRUCT;
}

bool fits(arrow::Type::type cell, arrow::Type::type column) {
  return cell == arrow::Type::NA || cell == column || (cell == arrow::Type::INT64 && column == arrow::Type::DOUBLE);
}

// Does a cell of a column of whole numbers have more digits than Arrow's whole numbers?
bool is_too_large(const nlohmann::json& cell) {
  return cell.is_number_float() || (cell.is_number_unsigned() && cell.get<std::uint64_t>() > INT64_MAX);
}

void check_cell(const nlohmann::json& cell, std::int64_t line, const format::WantedColumn& column,
                arrow::Type::type type, Mistakes& mistakes) {
  const std::string text = shortened(cell.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace));
  if (type == arrow::Type::INT64 && is_too_large(cell)) {
    mistakes.add(line, column, text + " has more digits than a whole number of 64 bits: write it as text");
  } else if (!fits(type_of(cell), type)) {
    mistakes.add(line, column,
                 text + " is " + kind_of(type_of(cell)) + ", but the first cells of the column are " + kind_of(type));
  } else if (cell.is_null()) {
    mistakes.add_missing(line, column);
  } else if (cell.is_string() && column.type == format::CellType::number) {
    const auto& written = cell.get_ref<const std::string&>();
    if (!parse_number(written)) mistakes.add_text(line, column, written);
  }
}

void check_line(const nlohmann::json& line, std::int64_t number, const arrow::Schema& types,
                const std::vector<format::WantedColumn>& wanted, Mistakes& mistakes) {
  for (const format::WantedColumn& column : wanted) {
    const auto cell = line.find(column.name);
    const auto field = types.GetFieldByName(column.name);
    if (cell != line.end() && field != nullptr) {
      check_cell(*cell, number, column, field->type()->id(), mistakes);
    } else if (cell == line.end()) {
      mistakes.add_missing(number, column);
    }
  }
}

}  // namespace

Error jsonl_mistakes(const std::filesystem::path& file, const arrow::Schema& types,
                     const std::vector<format::WantedColumn>& wanted, const Error& refusal) {
  Mistakes mistakes(file, kOnlyNull);
  try {
    TextLines lines(file);
    for (std::string line; !mistakes.full() && lines.next(line);) {
      try {
        const nlohmann::json value = config::parse_json(standard_json(line));
        if (value.is_object()) {
          check_line(value, lines.number(), types, wanted, mistakes);
        } else {
          mistakes.add(lines.number(), "is not a JSON object");
        }
      } catch (const std::runtime_error& error) {
        mistakes.add(lines.number(), error.what());
      }
      mistakes.count_rows(1);
    }
  } catch (const Error& error) {
    // The rest of the file cannot be read.
    if (mistakes.empty()) return error;
  }
  return mistakes.empty() ? refusal : mistakes.error();
}

}  // namespace ddp::tables
