#include "tables/jsonl_mistakes.h"

#include <stdexcept>
#include <string>

#include "config/text/json_text.h"
#include "tables/convert.h"
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

bool fits(arrow::Type::type cell, arrow::Type::type column) {
  return cell == arrow::Type::NA || cell == column || (cell == arrow::Type::INT64 && column == arrow::Type::DOUBLE);
}

void check_line(const config::Value& line, std::int64_t number, const arrow::Schema& wanted, Mistakes& mistakes) {
  for (const auto& field : wanted.fields()) {
    const auto cell = line.find(field->name());
    if (cell == line.end()) continue;
    const arrow::Type::type type = json_type(*cell)->id();
    if (fits(type, field->type()->id())) continue;
    mistakes.add(number, {.name = field->name(), .type = cell_type(*field->type())},
                 shortened(cell->dump(-1, ' ', false, config::Value::error_handler_t::replace)) + " is " +
                     kind_of(type) + ", but the first cells of the column are " + kind_of(field->type()->id()));
  }
}

}  // namespace

Error jsonl_mistakes(const std::filesystem::path& file, const arrow::Schema& wanted, const Error& refusal) {
  Mistakes mistakes(file);
  try {
    TextLines lines(file);
    for (std::string line; !mistakes.full() && lines.next(line);) {
      try {
        const config::Value value = config::parse_value(line);
        if (value.is_object()) {
          check_line(value, lines.number(), wanted, mistakes);
        } else {
          mistakes.add(lines.number(), "is not a JSON object");
        }
      } catch (const std::runtime_error& error) {
        mistakes.add(lines.number(), error.what());
      }
    }
  } catch (const Error& error) {
    // The rest of the file cannot be read.
    if (mistakes.empty()) return error;
  }
  return mistakes.empty() ? refusal : mistakes.error();
}

}  // namespace ddp::tables
