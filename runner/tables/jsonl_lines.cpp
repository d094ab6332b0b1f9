#include "tables/jsonl_lines.h"

#include <cstring>
#include <stdexcept>
#include <unordered_map>
#include <vector>

#include <arrow/buffer.h>

#include "base/error.h"
#include "config/text/json_text.h"
#include "tables/source.h"

namespace ddp::tables {
namespace {

constexpr std::int64_t kLinePiece = 1 << 20;
constexpr std::int64_t kSchemaBytes = 1 << 20;  // so many bytes of a file determine its columns
constexpr std::size_t kLargestLine = 64 << 20;

using Type = std::shared_ptr<arrow::DataType>;

// The type of a column with cells of both types.
Type common_type(const Type& one, const Type& other) {
  if (one->id() == arrow::Type::NA || one->Equals(*other)) return other;
  if (other->id() == arrow::Type::NA) return one;
  const auto is_number = [](const Type& type) {
    return type->id() == arrow::Type::INT64 || type->id() == arrow::Type::DOUBLE;
  };
  if (is_number(one) && is_number(other)) return arrow::float64();
  if (one->id() == arrow::Type::LIST || one->id() == arrow::Type::STRUCT) return one;
  if (other->id() == arrow::Type::LIST || other->id() == arrow::Type::STRUCT) return other;
  return arrow::utf8();
}

}  // namespace

TextLines::TextLines(const std::filesystem::path& file) : file_(file), stream_(open_stream(file)) {}

bool TextLines::refill() {
  piece_ = require(stream_->Read(kLinePiece), file_);
  at_ = 0;
  return piece_->size() > 0;
}

bool TextLines::next(std::string& line) {
  line.clear();
  for (bool in_line = false;;) {
    if ((piece_ == nullptr || at_ == piece_->size()) && !refill()) return !line.empty();
    const auto* begin = reinterpret_cast<const char*>(piece_->data()) + at_;
    const auto size = static_cast<std::size_t>(piece_->size() - at_);
    const auto* end = static_cast<const char*>(std::memchr(begin, '\n', size));
    const std::size_t taken = end == nullptr ? size : static_cast<std::size_t>(end - begin) + 1;
    if (!in_line) ++number_;
    in_line = end == nullptr;
    line.append(begin, end == nullptr ? size : taken - 1);
    at_ += static_cast<std::int64_t>(taken);
    bytes_ += static_cast<std::int64_t>(taken);
    if (line.size() > kLargestLine) {
      throw usage_error("a line is larger than 64 MB", file_.string() + ":" + std::to_string(number_));
    }
    if (end != nullptr && line.find_first_not_of(" \t\r") != std::string::npos) return true;
    if (end != nullptr) line.clear();
  }
}

Type json_type(const config::Value& value) {
  switch (value.type()) {
    case config::Value::value_t::null:
      return arrow::null();
    case config::Value::value_t::boolean:
      return arrow::boolean();
    case config::Value::value_t::number_integer:
    case config::Value::value_t::number_unsigned:
      return arrow::int64();
    case config::Value::value_t::number_float:
      return arrow::float64();
    case config::Value::value_t::array:
      return arrow::list(arrow::null());
    case config::Value::value_t::object:
      return arrow::struct_(arrow::FieldVector{});
    default:
      return arrow::utf8();
  }
}

std::shared_ptr<arrow::Schema> jsonl_schema(const std::filesystem::path& file) {
  TextLines lines(file);
  arrow::FieldVector fields;
  std::unordered_map<std::string, std::size_t> places;
  bool is_empty = true;
  for (std::string line; lines.bytes() < kSchemaBytes && lines.next(line);) {
    is_empty = false;
    const std::string where = file.string() + ":" + std::to_string(lines.number());
    config::Value value;
    try {
      value = config::parse_value(line);
    } catch (const std::runtime_error& error) {
      throw usage_error(error.what(), where, "write one JSON object per line");
    }
    if (!value.is_object()) throw usage_error("is not a JSON object", where, "write one JSON object per line");
    for (const auto& [name, cell] : value.items()) {
      const auto [known, is_new] = places.emplace(name, fields.size());
      if (is_new) {
        fields.push_back(arrow::field(name, json_type(cell)));
      } else {
        auto& field = fields[known->second];
        field = field->WithType(common_type(field->type(), json_type(cell)));
      }
    }
  }
  if (is_empty) throw usage_error("is empty", file.string());
  return arrow::schema(std::move(fields));
}

}  // namespace ddp::tables
