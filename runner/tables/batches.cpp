#include "tables/batches.h"

#include <algorithm>
#include <utility>

#include "tables/convert.h"
#include "tables/mistakes.h"
#include "tables/source.h"

namespace ddp::tables {
namespace {

constexpr std::int64_t kChunkRows = 1 << 16;

class BatchTable : public format::TableFile {
 public:
  BatchTable(const std::filesystem::path& file, std::unique_ptr<BatchSource> source)
      : file_(file), source_(std::move(source)) {
    for (const auto& field : source_->schema()->fields()) {
      columns_.push_back({.name = field->name(), .type = cell_type(*field->type())});
    }
    if (columns_.empty()) throw usage_error("has no columns", file.string());
    require_distinct(columns_, file);
  }

  const std::vector<format::ColumnInfo>& columns() const override { return columns_; }

  void read(const std::vector<format::WantedColumn>& wanted) override {
    std::vector<int> places = places_of(wanted, columns_, file_);
    for (std::size_t i = 0; i < wanted.size(); ++i) {
      require_readable(wanted[i], *source_->schema()->field(places[i])->type(), file_);
    }
    wanted_ = wanted;
    std::sort(places.begin(), places.end());
    places.erase(std::unique(places.begin(), places.end()), places.end());
    batch_ = nullptr;
    begin_ = rows_before_ = 0;
    const arrow::Status status = source_->begin(wanted, places);
    if (!status.ok()) throw source_->explain(refusal(status, file_));
  }

  bool next(format::TableChunk& chunk) override {
    Mistakes mistakes(file_, kOnlyNull, "row ");
    mistakes.count_rows(rows_before_);
    while (const std::shared_ptr<arrow::RecordBatch> piece = next_piece()) {
      std::shared_ptr<arrow::RecordBatch> converted = convert_piece(*piece, mistakes);
      rows_before_ += piece->num_rows();
      mistakes.count_rows(piece->num_rows());
      // After the first mistake the remaining rows are still checked, to report further mistakes.
      if (mistakes.full()) break;
      if (!mistakes.empty()) continue;
      chunk = as_chunk(std::move(converted));
      return true;
    }
    if (!mistakes.empty()) throw source_->explain(mistakes.error());
    return false;
  }

  std::vector<std::int64_t> lines_of(const std::vector<std::int64_t>& rows) const override {
    return source_->lines_of(rows);
  }

 private:
  // Returns some rows of the current batch or of the next one; null at the end.
  std::shared_ptr<arrow::RecordBatch> next_piece() {
    while (batch_ == nullptr || begin_ == batch_->num_rows()) {
      auto next = source_->next();
      if (!next.ok()) throw source_->explain(refusal(next.status(), file_));
      batch_ = *std::move(next);
      begin_ = 0;
      if (batch_ == nullptr) return nullptr;
    }
    const std::int64_t rows = std::min(kChunkRows, batch_->num_rows() - begin_);
    return batch_->Slice(std::exchange(begin_, begin_ + rows), rows);
  }

  std::shared_ptr<arrow::RecordBatch> convert_piece(const arrow::RecordBatch& piece, Mistakes& mistakes) const {
    arrow::ArrayVector arrays;
    arrow::FieldVector fields;
    for (const format::WantedColumn& column : wanted_) {
      const std::shared_ptr<arrow::Array> cells = piece.GetColumnByName(column.name);
      if (cells == nullptr) throw usage_error("is damaged: it lacks column " + shown(column.name), file_.string());
      arrays.push_back(require(convert(cells, column, rows_before_, mistakes), file_));
      fields.push_back(arrow::field(column.name, arrays.back()->type()));
    }
    return arrow::RecordBatch::Make(arrow::schema(std::move(fields)), piece.num_rows(), std::move(arrays));
  }

  const std::filesystem::path file_;
  const std::unique_ptr<BatchSource> source_;
  std::vector<format::ColumnInfo> columns_;
  std::vector<format::WantedColumn> wanted_;
  std::shared_ptr<arrow::RecordBatch> batch_;
  std::int64_t begin_ = 0;        // first row of batch_ that is not yet taken
  std::int64_t rows_before_ = 0;  // rows of the file before the current piece
};

}  // namespace

std::unique_ptr<format::TableFile> table_of(const std::filesystem::path& file, std::unique_ptr<BatchSource> source) {
  return std::make_unique<BatchTable>(file, std::move(source));
}

}  // namespace ddp::tables
