#include <algorithm>
#include <cmath>
#include <map>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include <arrow/builder.h>
#include <arrow/record_batch.h>
#include <arrow/status.h>

#include "base/error.h"
#include "base/text_number.h"
#include "config/text/json_text.h"
#include "config/text/source.h"
#include "tables/batches.h"
#include "tables/cell.h"
#include "tables/formats.h"
#include "tables/json_line.h"
#include "tables/mistakes.h"
#include "tables/source.h"
#include "tables/text_blocks.h"
#include "tables/text_lines.h"

namespace ddp::tables {
namespace {

constexpr std::size_t kMostColumns = 1 << 20;
constexpr std::size_t kDigits = 16;  // of 2^53

Kind common_kind(Kind column, Kind cell) {
  if (cell == Kind::infinite) cell = Kind::number;
  if (column == Kind::null) return cell;
  return column == Kind::integer && cell == Kind::number ? cell : column;
}

std::shared_ptr<arrow::DataType> arrow_type(Kind kind) {
  switch (kind) {
    case Kind::null:
      return arrow::null();
    case Kind::boolean:
      return arrow::boolean();
    case Kind::integer:
      return arrow::int64();
    case Kind::number:
      return arrow::float64();
    case Kind::text:
      return arrow::utf8();
    case Kind::list:
      return arrow::list(arrow::null());
    default:
      return arrow::struct_(arrow::FieldVector{});
  }
}

// The content of a file of JSON lines, from a pass over all its lines.
struct JsonlContent {
  // All keys in the order of their first lines, each with the kind of its first cell that is not null. A column of
  // whole numbers that also has others, or one beyond 64 bits, is one of numbers.
  std::vector<std::string> names = {};
  std::vector<Kind> kinds = {};
  std::map<std::string, std::int64_t> infinite = {};  // the first line in which a key is Infinity or -Infinity
  std::map<std::string, std::int64_t> beyond = {};    // the first line in which a key is a number that no double holds
  std::map<std::string, std::int64_t> large = {};     // the first line in which a key is a whole number from 2^53
  std::map<std::string, std::int64_t> repeated = {};  // the first line that has a key twice
  bool is_clean = true;                               // each cell is one of JSON, or NaN or Infinity
  TextBlocks blocks = {};

  std::shared_ptr<arrow::Schema> schema() const {
    arrow::FieldVector fields;
    for (std::size_t i = 0; i < names.size(); ++i) fields.push_back(arrow::field(names[i], arrow_type(kinds[i])));
    return arrow::schema(std::move(fields));
  }
  bool is_sound() const { return names.size() == kinds.size() && blocks.is_sound(); }
  void fields(config::Fields& f) {
    f({.name = "names"}, names);
    f({.name = "kinds"}, kinds);
    f({.name = "infinite"}, infinite);
    f({.name = "beyond"}, beyond);
    f({.name = "large"}, large);
    f({.name = "repeated"}, repeated);
    f({.name = "is_clean"}, is_clean);
    f({.name = "blocks"}, blocks);
  }
};

// The columns of the lines that were read.
class Columns {
 public:
  explicit Columns(const std::filesystem::path& file) : file_(file) {}

  void take_line(const std::string& line, std::int64_t number) {
    number_ = number;
    keys_.begin_line();
    if (!is_utf8(line)) throw not_utf8(file_, number, "the line", line);
    Members members(line);
    if (!members.each([&](std::string_view key, const Cell& cell) { take(key, cell); })) {
      parsed(standard_json(line));
      throw usage_error("is not a JSON object", where(), kOneObject);
    }
  }

  JsonlContent content() && { return std::move(found_); }

 private:
  std::string where() const { return file_.string() + ":" + std::to_string(number_); }

  static constexpr const char* kOneObject = "write one JSON object per line";

  nlohmann::json parsed(const std::string& json) const try {
    return config::parse_json(json);
  } catch (const std::runtime_error& error) {
    throw usage_error(error.what(), where(), kOneObject);
  }

  void take(std::string_view key, const Cell& cell) {
    const std::size_t at = place_of(key);
    found_.is_clean = found_.is_clean && is_json(cell);
    if (std::exchange(lines_[at], number_) == number_) found_.repeated.try_emplace(found_.names[at], number_);
    Kind kind = cell.kind;
    if (kind == Kind::integer && cell.written.size() >= kDigits) {
      if (!text_number<std::int64_t>(cell.written)) kind = Kind::number;
      // A double may not have all its digits.
      const bool is_large = std::fabs(parse_number(cell.written).value_or(0)) >= kWholeNumbers;
      if (is_large) found_.large.try_emplace(found_.names[at], number_);
    }
    // 1e308, or as many digits
    const bool may_be_beyond = cell.written.size() > 300 || cell.written.find_first_of("eE") != cell.written.npos;
    if (kind == Kind::number && may_be_beyond && !std::isfinite(parse_number(cell.written).value_or(0))) {
      found_.beyond.try_emplace(found_.names[at], number_);
    }
    found_.kinds[at] = common_kind(found_.kinds[at], kind);
    if (kind == Kind::infinite) found_.infinite.try_emplace(found_.names[at], number_);
  }

  std::size_t place_of(std::string_view key) {
    const std::size_t place = next_place(key);
    if (place < found_.names.size()) return place;
    if (place == kMostColumns) {
      throw usage_error("the lines have more than " + std::to_string(kMostColumns) + " different keys", where());
    }
    found_.names.push_back(unescaped(key));
    found_.kinds.push_back(Kind::null);
    lines_.push_back(0);
    return place;
  }

  std::size_t next_place(std::string_view key) try {
    return keys_.next(key);
  } catch (const nlohmann::json::exception&) {
    parsed('"' + std::string(key) + '"');
    throw;
  }

  const std::filesystem::path file_;
  JsonlContent found_;
  Keys keys_;
  std::vector<std::int64_t> lines_;  // the last line of each key
  std::int64_t number_ = 0;          // of the line
};

// Throws ddp::Error (usage) if a line is not a JSON object. Memory is proportional to the number of keys.
JsonlContent jsonl_content(const std::filesystem::path& file, const format::TableOptions& options) {
  TextLines lines(file, options);
  Columns columns(file);
  TextBlocks blocks;
  const bool is_packed = is_compressed(file, options);
  for (std::string line; lines.next(line);) {
    columns.take_line(line, lines.number());
    blocks.add(1, lines.begin(), lines.end() - lines.begin(), is_packed);
  }
  if (blocks.rows.empty()) throw usage_error("is empty", file.string());
  JsonlContent content = std::move(columns).content();
  content.blocks = std::move(blocks);
  return content;
}

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

void check_cell(const nlohmann::json& cell, std::int64_t line, const format::WantedColumn& column,
                arrow::Type::type type, const format::TableOptions& how, Mistakes& mistakes) {
  constexpr std::size_t kShown = 40;
  const std::string text =
      config::printable(cell.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace).substr(0, kShown));
  if (!fits(type_of(cell), type)) {
    mistakes.add(line, column,
                 text + " is " + kind_of(type_of(cell)) + ", but the first cells of the column are " + kind_of(type));
  } else if (cell.is_null()) {
    mistakes.add_missing(line, column);
  } else if (cell.is_string() && column.type != format::CellType::text) {
    const auto& written = cell.get_ref<const std::string&>();
    if (!number_in(written, column.type, how)) mistakes.add_text(line, column, written, how.date_format);
  }
}

void check_line(const nlohmann::json& line, std::int64_t number, const arrow::Schema& types,
                const std::vector<format::WantedColumn>& wanted, const format::TableOptions& how, Mistakes& mistakes) {
  for (const format::WantedColumn& column : wanted) {
    const auto cell = line.find(column.name);
    const auto field = types.GetFieldByName(column.name);
    if (cell != line.end() && field != nullptr) {
      check_cell(*cell, number, column, field->type()->id(), how, mistakes);
    } else if (cell == line.end()) {
      mistakes.add_missing(number, column);
    }
  }
}

// Reads JSON lines that the fast reader refused again, line by line, and reports their mistakes: up to 20 lines and
// cells. `types`: the wanted columns as they were read. Returns `refusal` if it finds no mistake.
Error jsonl_mistakes(const std::filesystem::path& file, const arrow::Schema& types,
                     const std::vector<format::WantedColumn>& wanted, const format::TableOptions& how,
                     const Error& refusal) {
  Mistakes mistakes(file, kOnlyNull);
  try {
    TextLines lines(file, how);
    for (std::string line; !mistakes.full() && lines.next(line);) {
      try {
        const nlohmann::json value = config::parse_json(standard_json(line));
        if (value.is_object()) {
          check_line(value, lines.number(), types, wanted, how, mistakes);
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

// Collects the cells of a column.
class CellBuilder {
 public:
  explicit CellBuilder(const std::shared_ptr<arrow::DataType>& type) : type_(type->id()) {
    if (type_ == arrow::Type::DOUBLE) builder_ = std::make_unique<arrow::DoubleBuilder>();
    if (type_ == arrow::Type::INT64) builder_ = std::make_unique<arrow::Int64Builder>();
    if (type_ == arrow::Type::BOOL) builder_ = std::make_unique<arrow::BooleanBuilder>();
    if (type_ == arrow::Type::STRING) builder_ = std::make_unique<arrow::StringBuilder>();
  }

  std::int64_t rows() const { return builder_->length(); }
  arrow::Status add_missing() { return builder_->AppendNull(); }
  arrow::Result<std::shared_ptr<arrow::Array>> finish() { return builder_->Finish(); }

  arrow::Status add(const Cell& cell) {
    if (cell.kind == Kind::null) return add_missing();
    const bool is_number = cell.kind == Kind::integer || cell.kind == Kind::number;
    if (type_ == arrow::Type::DOUBLE && is_number) {
      const double number = number_of(cell.written);
      if (!std::isfinite(number)) return arrow::Status::Invalid("a number is too large");
      return as<arrow::DoubleBuilder>().Append(number);
    }
    if (type_ == arrow::Type::INT64 && cell.kind == Kind::integer) {
      const auto number = text_number<std::int64_t>(cell.written);
      if (number) return as<arrow::Int64Builder>().Append(*number);
    }
    if (type_ == arrow::Type::BOOL && cell.kind == Kind::boolean) {
      return as<arrow::BooleanBuilder>().Append(cell.written == "true");
    }
    if (type_ == arrow::Type::STRING && cell.kind == Kind::text) {
      if (cell.written.find('\\') == cell.written.npos) return as<arrow::StringBuilder>().Append(cell.written);
      return as<arrow::StringBuilder>().Append(unescaped(cell.written));
    }
    return arrow::Status::Invalid("a cell does not have the type of its column");
  }

 private:
  template <class Builder>
  Builder& as() {
    return static_cast<Builder&>(*builder_);
  }

  static double number_of(std::string_view written) {
    double number = 0;
    const char* const end = written.data() + written.size();
    return read_plain_number(written.data(), end, number) == end ? number : parse_number(written).value_or(NAN);
  }

  const arrow::Type::type type_;
  std::unique_ptr<arrow::ArrayBuilder> builder_;
};

class JsonlSource : public BatchSource {
 public:
  JsonlSource(const std::filesystem::path& file, const format::TableOptions& options)
      : file_(file),
        how_(options),
        content_(indexed<JsonlContent>(file, options, "jsonl 4", [&] { return jsonl_content(file, options); })),
        schema_(content_.schema()) {}

  std::shared_ptr<arrow::Schema> schema() const override { return schema_; }

  std::vector<std::int64_t> blocks() const override { return content_.blocks.rows; }

  arrow::Status begin(const std::vector<format::WantedColumn>& wanted, const std::vector<int>& places,
                      std::optional<std::int64_t> block) override {
    for (const format::WantedColumn& column : wanted) {
      const std::string name = config::in_quotes(column.name);
      refuse(content_.infinite, column, "column " + name + ": Infinity is not a finite number");
      refuse(content_.beyond, column, "column " + name + ": a number is beyond the range of a double");
      refuse(content_.repeated, column, "has the key " + name + " twice");
      require_all_digits(column);
    }
    arrow::FieldVector fields;
    for (const int place : places) fields.push_back(field_to_read(*schema_->field(place), wanted));
    wanted_ = wanted;
    types_ = arrow::schema(std::move(fields));
    keys_ = Keys(content_.names);
    columns_.assign(content_.names.size(), std::nullopt);
    for (std::size_t i = 0; i < places.size(); ++i) columns_[static_cast<std::size_t>(places[i])] = i;
    lines_.emplace(file_, how_, block ? content_.blocks.span(*block) : Span{});
    return arrow::Status::OK();
  }

  arrow::Result<std::shared_ptr<arrow::RecordBatch>> next() override {
    if (!content_.is_clean) return arrow::Status::Invalid("a cell is not JSON");
    std::vector<CellBuilder> builders;
    for (const auto& field : types_->fields()) builders.emplace_back(field->type());
    std::int64_t rows = 0;
    for (std::int64_t bytes = 0; rows < kMostRows && bytes < kMostBytes && lines_->next(line_); ++rows) {
      ARROW_RETURN_NOT_OK(take_line(builders, rows));
      bytes += std::ssize(line_);
    }
    if (rows == 0) return nullptr;
    arrow::ArrayVector arrays;
    for (CellBuilder& builder : builders) {
      ARROW_ASSIGN_OR_RAISE(arrays.emplace_back(), builder.finish());
    }
    return arrow::RecordBatch::Make(types_, rows, std::move(arrays));
  }

  Error explain(const Error& refusal) const override { return jsonl_mistakes(file_, *types_, wanted_, how_, refusal); }

  std::vector<std::int64_t> lines_of(const std::vector<std::int64_t>& rows) const override {
    TextLines all(file_, how_);
    std::string line;
    std::vector<std::int64_t> lines;
    for (std::int64_t number = 0; lines.size() < rows.size() && all.next(line); ++number) {
      while (lines.size() < rows.size() && rows[lines.size()] == number) lines.push_back(all.number());
    }
    return lines;
  }

 private:
  static constexpr std::int64_t kMostRows = 1 << 16;
  static constexpr std::int64_t kMostBytes = 4 << 20;

  arrow::Status take_line(std::vector<CellBuilder>& builders, std::int64_t row) {
    keys_.begin_line();
    arrow::Status status;
    const auto take = [&](std::string_view key, const Cell& cell) {
      if (!status.ok()) return;
      const std::size_t place = keys_.next(key);
      if (place >= columns_.size() || !columns_[place]) return;
      CellBuilder& column = builders[*columns_[place]];
      if (column.rows() == row) status = column.add(cell);
    };
    if (!Members(line_).each(take)) return arrow::Status::Invalid("a line is not a JSON object");
    for (CellBuilder& builder : builders) {
      if (status.ok() && builder.rows() == row) status = builder.add_missing();
    }
    return status;
  }

  // Throws if the column is among those of a mistake, which have its first line.
  void refuse(const std::map<std::string, std::int64_t>& lines, const format::WantedColumn& column,
              const std::string& mistake) const {
    const auto line = lines.find(column.name);
    if (line == lines.end()) return;
    throw usage_error(mistake, file_.string() + ":" + std::to_string(line->second), "correct the file");
  }

  // Throws if the texts of a column are those of doubles, some of which stand for several numbers.
  void require_all_digits(const format::WantedColumn& column) const {
    const auto line = content_.large.find(column.name);
    if (column.type != format::CellType::text || line == content_.large.end()) return;
    const auto field = schema_->GetFieldByName(column.name);
    if (field->type()->id() != arrow::Type::DOUBLE) return;
    throw usage_error("column " + config::in_quotes(column.name) +
                          ": a number of 2^53 or more cannot be told from the next ones, because the column has "
                          "numbers with a point or an exponent, or beyond 64 bits",
                      file_.string() + ":" + std::to_string(line->second), "write the column as text");
  }

  // Whole numbers are read as doubles, unless their digits are wanted as text or as a date. A column whose cells are
  // all null gets the wanted type.
  static std::shared_ptr<arrow::Field> field_to_read(const arrow::Field& field,
                                                     const std::vector<format::WantedColumn>& wanted) {
    const bool are_digits = std::any_of(wanted.begin(), wanted.end(), [&](const format::WantedColumn& column) {
      return column.name == field.name() && column.type != format::CellType::number;
    });
    const arrow::Type::type type = field.type()->id();
    if (type == arrow::Type::INT64 && !are_digits) return arrow::field(field.name(), arrow::float64());
    if (type == arrow::Type::NA) return arrow::field(field.name(), are_digits ? arrow::utf8() : arrow::float64());
    return arrow::field(field.name(), field.type());
  }

  const std::filesystem::path file_;
  const format::TableOptions how_;
  const JsonlContent content_;
  const std::shared_ptr<arrow::Schema> schema_;
  std::vector<format::WantedColumn> wanted_;
  std::shared_ptr<arrow::Schema> types_;  // of the wanted columns
  Keys keys_;
  std::vector<std::optional<std::size_t>> columns_;  // of the keys, among types_; nothing: not wanted
  std::optional<TextLines> lines_;
  std::string line_;
};

}  // namespace

std::unique_ptr<BatchSource> open_jsonl(const std::filesystem::path& file, const format::TableOptions& options) {
  return std::make_unique<JsonlSource>(file, options);
}

}  // namespace ddp::tables
