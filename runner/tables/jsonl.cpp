#include "tables/jsonl.h"

#include <algorithm>
#include <string>
#include <utility>

#include <arrow/json/options.h>
#include <arrow/json/reader.h>

#include "tables/jsonl_lines.h"
#include "tables/jsonl_mistakes.h"
#include "tables/mistakes.h"
#include "tables/source.h"

namespace ddp::tables {
namespace {

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
