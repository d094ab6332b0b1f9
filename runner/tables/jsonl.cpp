#include "tables/jsonl.h"

#include <algorithm>
#include <string>
#include <utility>

#include <arrow/json/options.h>
#include <arrow/json/reader.h>

#include "tables/jsonl_lines.h"
#include "tables/jsonl_mistakes.h"
#include "tables/source.h"

namespace ddp::tables {
namespace {

class JsonlSource : public BatchSource {
 public:
  explicit JsonlSource(const std::filesystem::path& file) : file_(file), schema_(jsonl_schema(file)) {}

  std::shared_ptr<arrow::Schema> schema() const override { return schema_; }

  arrow::Status begin(const std::vector<format::WantedColumn>& wanted, const std::vector<int>& places) override {
    arrow::FieldVector fields;
    for (const int place : places) fields.push_back(field_to_read(*schema_->field(place), wanted));
    wanted_ = arrow::schema(std::move(fields));
    arrow::json::ReadOptions reading;
    reading.block_size = kBlock;
    arrow::json::ParseOptions parsing;
    parsing.explicit_schema = wanted_;
    parsing.unexpected_field_behavior = arrow::json::UnexpectedFieldBehavior::Ignore;
    reader_ = nullptr;
    ARROW_ASSIGN_OR_RAISE(reader_, arrow::json::StreamingReader::Make(open_stream(file_), reading, parsing));
    return arrow::Status::OK();
  }

  arrow::Result<std::shared_ptr<arrow::RecordBatch>> next() override { return reader_->Next(); }

  Error explain(const arrow::Status& failure) const override {
    return jsonl_mistakes(file_, *wanted_, refusal(failure, file_));
  }

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

  // An integer column may contain other numbers later: it is read as doubles, unless its digits are wanted as text. A
  // column whose first cells are all null gets the wanted type.
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
  const std::shared_ptr<arrow::Schema> schema_;
  std::shared_ptr<arrow::Schema> wanted_;
  std::shared_ptr<arrow::json::StreamingReader> reader_;
};

}  // namespace

std::unique_ptr<BatchSource> open_jsonl(const std::filesystem::path& file) {
  return std::make_unique<JsonlSource>(file);
}

}  // namespace ddp::tables
