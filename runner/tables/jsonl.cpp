#include <algorithm>
#include <stdexcept>
#include <string>
#include <utility>

#include <arrow/json/options.h>
#include <arrow/json/reader.h>

#include "config/text/json_text.h"
#include "tables/batches.h"
#include "tables/cell.h"
#include "tables/formats.h"
#include "tables/jsonl_lines.h"
#include "tables/mistakes.h"
#include "tables/source.h"

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

// Reads JSON lines that the fast reader refused again, line by line, and reports their mistakes: up to 20 lines and
// cells. `types`: the wanted columns as they were read. Returns `refusal` if it finds no mistake.
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

class JsonlSource : public BatchSource {
 public:
  explicit JsonlSource(const std::filesystem::path& file) : file_(file), content_(jsonl_content(file)) {}

  std::shared_ptr<arrow::Schema> schema() const override { return content_.schema; }

  arrow::Status begin(const std::vector<format::WantedColumn>& wanted, const std::vector<int>& places) override {
    for (const format::WantedColumn& column : wanted) {
      const auto line = content_.infinite.find(column.name);
      if (line == content_.infinite.end()) continue;
      throw usage_error("column " + shown(column.name) + ": Infinity is not a finite number",
                        file_.string() + ":" + std::to_string(line->second), "correct the file");
    }
    arrow::FieldVector fields;
    for (const int place : places) fields.push_back(field_to_read(*content_.schema->field(place), wanted));
    wanted_ = wanted;
    types_ = arrow::schema(std::move(fields));
    arrow::json::ReadOptions reading;
    reading.block_size = kBlock;
    arrow::json::ParseOptions parsing;
    parsing.explicit_schema = types_;
    parsing.unexpected_field_behavior = arrow::json::UnexpectedFieldBehavior::Ignore;
    reader_ = nullptr;
    ARROW_ASSIGN_OR_RAISE(reader_,
                          arrow::json::StreamingReader::Make(open_jsonl_text(file_, content_), reading, parsing));
    return arrow::Status::OK();
  }

  arrow::Result<std::shared_ptr<arrow::RecordBatch>> next() override { return reader_->Next(); }

  Error explain(const Error& refusal) const override { return jsonl_mistakes(file_, *types_, wanted_, refusal); }

  std::vector<std::int64_t> lines_of(const std::vector<std::int64_t>& rows) const override {
    TextLines all(file_);
    std::string line;
    std::vector<std::int64_t> lines;
    for (std::int64_t number = 0; lines.size() < rows.size() && all.next(line); ++number) {
      while (lines.size() < rows.size() && rows[lines.size()] == number) lines.push_back(all.number());
    }
    return lines;
  }

 private:
  static constexpr std::int32_t kBlock = 4 << 20;  // the limit of a line

  // Whole numbers are read as doubles, unless their digits are wanted as text. A column whose cells are all null gets
  // the wanted type.
  static std::shared_ptr<arrow::Field> field_to_read(const arrow::Field& field,
                                                     const std::vector<format::WantedColumn>& wanted) {
    const bool as_text = std::any_of(wanted.begin(), wanted.end(), [&](const format::WantedColumn& column) {
      return column.name == field.name() && column.type == format::CellType::text;
    });
    const arrow::Type::type type = field.type()->id();
    if (type == arrow::Type::INT64 && !as_text) return arrow::field(field.name(), arrow::float64());
    if (type == arrow::Type::NA) return arrow::field(field.name(), as_text ? arrow::utf8() : arrow::float64());
    return arrow::field(field.name(), field.type());
  }

  const std::filesystem::path file_;
  const JsonlContent content_;
  std::vector<format::WantedColumn> wanted_;
  std::shared_ptr<arrow::Schema> types_;  // of the wanted columns
  std::shared_ptr<arrow::json::StreamingReader> reader_;
};

}  // namespace

std::unique_ptr<BatchSource> open_jsonl(const std::filesystem::path& file) {
  return std::make_unique<JsonlSource>(file);
}

}  // namespace ddp::tables
