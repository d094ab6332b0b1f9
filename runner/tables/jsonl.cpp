#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>
#include <map>
#include <stdexcept>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include <arrow/buffer.h>
#include <arrow/io/interfaces.h>
#include <arrow/json/options.h>
#include <arrow/json/reader.h>

#include "base/error.h"
#include "base/text_number.h"
#include "config/text/json_text.h"
#include "config/text/source.h"
#include "tables/batches.h"
#include "tables/cell.h"
#include "tables/formats.h"
#include "tables/mistakes.h"
#include "tables/source.h"
#include "tables/text_blocks.h"
#include "tables/text_lines.h"

namespace ddp::tables {
namespace {

constexpr std::size_t kMostColumns = 1 << 20;
constexpr std::size_t kDigits = 16;  // of 2^53

// The kinds of cells, and of columns.
enum class Kind : std::uint8_t { null, boolean, integer, number, infinite, text, list, object };
constexpr std::array<const char*, 8> names_of(Kind) {
  return {"null", "boolean", "integer", "number", "infinite", "text", "list", "object"};
}

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

// The bytes of a number that the kind depends on: 1 for a digit or "-", 2 for what a whole number lacks.
constexpr std::array<std::uint8_t, 256> kNumberBytes = [] {
  std::array<std::uint8_t, 256> bytes{};
  for (const char byte : std::string_view("0123456789-")) bytes[static_cast<std::uint8_t>(byte)] = 1;
  for (const char byte : std::string_view(".eE+")) bytes[static_cast<std::uint8_t>(byte)] = 2;
  return bytes;
}();

// Walks over the members of an object in one line. It finds keys and kinds of cells, and leaves most mistakes to the
// parser that reads the cells.
class Members {
 public:
  explicit Members(std::string_view line) : at_(line.data()), end_(line.data() + line.size()) {}

  // Calls `take(key, kind)` for each member; a key may have escapes. Returns false if the line is no object.
  template <class Take>
  bool each(const Take& take) {
    if (!skip('{')) return false;
    if (skip('}')) return at_end();
    do {
      std::string_view key;
      Kind kind{};
      if (!skip('"') || !take_text(key) || !skip(':') || !take_cell(kind)) return false;
      take(key, kind);
    } while (skip(','));
    return skip('}') && at_end();
  }

  bool has_words() const { return has_words_; }  // NaN or Infinity
  // Is the cell that `take` gets a whole number from 2^53, of which a double may not have all digits?
  bool is_large() const { return is_large_; }

 private:
  void skip_blanks() {
    while (at_ != end_ && (*at_ == ' ' || *at_ == '\t' || *at_ == '\r')) ++at_;
  }

  bool skip(char byte) {
    skip_blanks();
    if (at_ == end_ || *at_ != byte) return false;
    ++at_;
    return true;
  }

  bool skip(std::string_view word) {
    if (!std::string_view(at_, end_).starts_with(word)) return false;
    at_ += word.size();
    return true;
  }

  bool at_end() {
    skip_blanks();
    return at_ == end_;
  }

  // Reads from after the opening quote to after the closing quote.
  bool take_text(std::string_view& text) {
    const char* const begin = at_;
    for (;;) {
      at_ = static_cast<const char*>(std::memchr(at_, '"', static_cast<std::size_t>(end_ - at_)));
      if (at_ == nullptr) return false;
      const char* escapes = at_;
      while (escapes != begin && escapes[-1] == '\\') --escapes;
      const char* const quote = at_++;
      if ((quote - escapes) % 2 == 0) {
        text = {begin, quote};
        return true;
      }
    }
  }

  bool take_word(std::string_view word) {
    has_words_ = true;
    return skip(word);
  }

  bool take_cell(Kind& kind) {
    skip_blanks();
    if (at_ == end_) return false;
    is_large_ = false;
    std::string_view text;
    switch (*at_) {
      case '"':
        kind = Kind::text;
        ++at_;
        return take_text(text);
      case '{':
      case '[':
        kind = *at_ == '{' ? Kind::object : Kind::list;
        return skip_nested();
      case 't':
        kind = Kind::boolean;
        return skip("true");
      case 'f':
        kind = Kind::boolean;
        return skip("false");
      case 'n':
        kind = Kind::null;
        return skip("null");
      case 'N':
        kind = Kind::null;
        return take_word(kNan);
      default:
        return take_number(kind);
    }
  }

  bool take_number(Kind& kind) {
    const char* const begin = at_;
    std::uint8_t seen = 0;
    for (std::uint8_t byte = 0; at_ != end_ && (byte = kNumberBytes[static_cast<std::uint8_t>(*at_)]) != 0; ++at_) {
      seen |= byte;
    }
    kind = (seen & 2) == 0 ? Kind::integer : Kind::number;
    const std::string_view written(begin, static_cast<std::size_t>(at_ - begin));
    if (kind == Kind::integer && written.size() >= kDigits) {
      if (!text_number<std::int64_t>(written)) kind = Kind::number;
      is_large_ = std::fabs(parse_number(written).value_or(0)) >= kWholeNumbers;
    }
    if (at_ != end_ && *at_ == 'I') {
      kind = Kind::infinite;
      return take_word(kInfinity);
    }
    return at_ != begin;
  }

  bool skip_nested() {
    for (int depth = 0; at_ != end_;) {
      const char byte = *at_++;
      std::string_view text;
      if (byte == '"' && !take_text(text)) return false;
      depth += (byte == '{' || byte == '[') - (byte == '}' || byte == ']');
      has_words_ = has_words_ || byte == kNan.front() || byte == kInfinity.front();
      if (depth == 0) return true;
    }
    return false;
  }

  const char* at_;
  const char* const end_;
  bool has_words_ = false;
  bool is_large_ = false;
};

// The content of a file of JSON lines, from a pass over all its lines.
struct JsonlContent {
  // All keys in the order of their first lines, each with the kind of its first cell that is not null. A column of
  // whole numbers that also has others, or one beyond 64 bits, is one of numbers.
  std::vector<std::string> names = {};
  std::vector<Kind> kinds = {};
  std::map<std::string, std::int64_t> infinite = {};  // the first line in which a key is Infinity or -Infinity
  std::map<std::string, std::int64_t> large = {};     // the first line in which a key is a whole number from 2^53
  std::int64_t longest = 0;                           // bytes of the longest line
  bool is_standard = true;                            // no byte order mark, NaN or Infinity
  TextBlocks blocks = {};

  std::shared_ptr<arrow::Schema> schema() const {
    arrow::FieldVector fields;
    for (std::size_t i = 0; i < names.size(); ++i) fields.push_back(arrow::field(names[i], arrow_type(kinds[i])));
    return arrow::schema(std::move(fields));
  }
  void fields(config::Fields& f) {
    f({.name = "names"}, names);
    f({.name = "kinds"}, kinds);
    f({.name = "infinite"}, infinite);
    f({.name = "large"}, large);
    f({.name = "longest"}, longest);
    f({.name = "is_standard"}, is_standard);
    f({.name = "blocks"}, blocks);
  }
};

// The columns of the lines that were read.
class Columns {
 public:
  explicit Columns(const std::filesystem::path& file) : file_(file) {}

  void take_line(const std::string& line, std::int64_t number) {
    number_ = number;
    next_ = 0;
    found_.longest = std::max(found_.longest, std::ssize(line));
    if (!is_utf8(line)) throw not_utf8(file_, number, "the line", line);
    Members members(line);
    if (!members.each([&](std::string_view key, Kind kind) { take(key, kind, members.is_large()); })) {
      parsed(standard_json(line));
      throw usage_error("is not a JSON object", where(), kOneObject);
    }
    found_.is_standard = found_.is_standard && !members.has_words();
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

  // Most lines have their keys in the order of the lines before, written in the same way.
  void take(std::string_view key, Kind kind, bool is_large) {
    const std::size_t at = next_ < keys_.size() && keys_[next_] == key ? next_ : place_of(key);
    found_.kinds[at] = common_kind(found_.kinds[at], kind);
    if (kind == Kind::infinite) found_.infinite.try_emplace(found_.names[at], number_);
    if (is_large) found_.large.try_emplace(found_.names[at], number_);
    next_ = at + 1;
  }

  std::size_t place_of(std::string_view key) {
    std::string name(key);
    if (name.find('\\') != name.npos) name = parsed('"' + name + '"').get<std::string>();
    const auto [known, is_new] = places_.try_emplace(name, found_.names.size());
    if (is_new) {
      if (found_.names.size() == kMostColumns) {
        throw usage_error("the lines have more than " + std::to_string(kMostColumns) + " different keys", where());
      }
      found_.names.push_back(std::move(name));
      keys_.emplace_back();
      found_.kinds.push_back(Kind::null);
    }
    keys_[known->second] = key;
    return known->second;
  }

  const std::filesystem::path file_;
  JsonlContent found_;
  std::vector<std::string> keys_;  // the names as the last line wrote them, perhaps with escapes
  std::unordered_map<std::string, std::size_t> places_;
  std::size_t next_ = 0;     // the likely place of the line's next key
  std::int64_t number_ = 0;  // of the line
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
  content.is_standard = content.is_standard && !lines.begins_with_mark();
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

class JsonlSource : public BatchSource {
 public:
  JsonlSource(const std::filesystem::path& file, const format::TableOptions& options)
      : file_(file),
        how_(options),
        content_(indexed<JsonlContent>(file, options, "jsonl 1", [&] { return jsonl_content(file, options); })),
        schema_(content_.schema()) {}

  std::shared_ptr<arrow::Schema> schema() const override { return schema_; }

  std::vector<std::int64_t> blocks() const override { return content_.blocks.rows; }

  arrow::Status begin(const std::vector<format::WantedColumn>& wanted, const std::vector<int>& places,
                      std::optional<std::int64_t> block) override {
    for (const format::WantedColumn& column : wanted) {
      const auto line = content_.infinite.find(column.name);
      if (line == content_.infinite.end()) continue;
      throw usage_error("column " + config::in_quotes(column.name) + ": Infinity is not a finite number",
                        file_.string() + ":" + std::to_string(line->second), "correct the file");
    }
    for (const format::WantedColumn& column : wanted) require_all_digits(column);
    arrow::FieldVector fields;
    for (const int place : places) fields.push_back(field_to_read(*schema_->field(place), wanted));
    wanted_ = wanted;
    types_ = arrow::schema(std::move(fields));
    arrow::json::ReadOptions reading;
    // A line may span two blocks. NaN becomes null, which is one byte longer.
    reading.block_size = std::max(kBlock, static_cast<std::int32_t>(content_.longest * 4 / 3));
    arrow::json::ParseOptions parsing;
    parsing.explicit_schema = types_;
    parsing.unexpected_field_behavior = arrow::json::UnexpectedFieldBehavior::Ignore;
    reader_ = nullptr;
    std::shared_ptr<arrow::io::InputStream> text;
    const Span span = block ? content_.blocks.span(*block) : Span{};
    if (content_.is_standard) {
      text = open_stream(file_, how_, span);
    } else {
      text = std::make_shared<StandardText>(file_, how_, span);
    }
    ARROW_ASSIGN_OR_RAISE(reader_, arrow::json::StreamingReader::Make(text, reading, parsing));
    return arrow::Status::OK();
  }

  arrow::Result<std::shared_ptr<arrow::RecordBatch>> next() override { return reader_->Next(); }

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
  static constexpr std::int32_t kBlock = 4 << 20;

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
  std::shared_ptr<arrow::json::StreamingReader> reader_;
};

}  // namespace

std::unique_ptr<BatchSource> open_jsonl(const std::filesystem::path& file, const format::TableOptions& options) {
  return std::make_unique<JsonlSource>(file, options);
}

}  // namespace ddp::tables
