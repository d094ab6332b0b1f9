#include <optional>
#include <utility>

#include <arrow/ipc/options.h>
#include <arrow/ipc/reader.h>
#include <parquet/arrow/reader.h>
#include <parquet/arrow/schema.h>
#include <parquet/file_reader.h>
#include <parquet/metadata.h>
#include <parquet/properties.h>

#include "tables/formats.h"
#include "tables/source.h"

namespace ddp::tables {
namespace {

constexpr std::int64_t kParquetRows = 1 << 16;

// Reads one row group at a time, and only the wanted columns; threads decode columns in parallel.
class ParquetSource : public BatchSource {
 public:
  ParquetSource(const std::filesystem::path& file, std::shared_ptr<arrow::io::RandomAccessFile> bytes) {
    // Pages are read on demand: a row group may be large.
    parquet::ReaderProperties reading;
    reading.enable_buffered_stream();
    reading.set_buffer_size(1 << 20);
    parquet::ArrowReaderProperties decoding;
    decoding.set_use_threads(true);
    decoding.set_pre_buffer(false);
    decoding.set_batch_size(kParquetRows);
    parquet::arrow::FileReaderBuilder builder;
    require(builder.Open(std::move(bytes), reading), file);
    require(builder.properties(decoding)->Build(&reader_), file);
    require(reader_->GetSchema(&schema_), file);
  }

  std::shared_ptr<arrow::Schema> schema() const override { return schema_; }

  arrow::Status begin(const std::vector<format::WantedColumn>&, const std::vector<int>& places,
                      std::optional<std::int64_t> block) override {
    leaves_.clear();
    for (const int place : places) {
      leaves_.push_back(reader_->manifest().schema_fields.at(static_cast<std::size_t>(place)).column_index);
    }
    group_ = static_cast<int>(block.value_or(0));
    end_ = block ? group_ + 1 : reader_->num_row_groups();
    batches_ = nullptr;
    return arrow::Status::OK();
  }

  std::vector<std::int64_t> blocks() const override {
    std::vector<std::int64_t> rows;
    const auto metadata = reader_->parquet_reader()->metadata();
    for (int i = 0; i < metadata->num_row_groups(); ++i) rows.push_back(metadata->RowGroup(i)->num_rows());
    return rows;
  }

  arrow::Result<std::shared_ptr<arrow::RecordBatch>> next() override {
    for (;;) {
      if (batches_ == nullptr) {
        if (group_ == end_) return nullptr;
        ARROW_ASSIGN_OR_RAISE(batches_, reader_->GetRecordBatchReader({group_++}, leaves_));
      }
      ARROW_ASSIGN_OR_RAISE(std::shared_ptr<arrow::RecordBatch> batch, batches_->Next());
      if (batch != nullptr) return batch;
      batches_ = nullptr;
    }
  }

 private:
  std::unique_ptr<parquet::arrow::FileReader> reader_;
  std::shared_ptr<arrow::Schema> schema_;
  std::vector<int> leaves_;
  int group_ = 0;
  int end_ = 0;
  std::unique_ptr<arrow::RecordBatchReader> batches_;
};

class FeatherSource : public BatchSource {
 public:
  FeatherSource(const std::filesystem::path& file, std::shared_ptr<arrow::io::RandomAccessFile> bytes)
      : file_(file), bytes_(std::move(bytes)) {
    schema_ = require(arrow::ipc::RecordBatchFileReader::Open(bytes_), file)->schema();
  }

  std::shared_ptr<arrow::Schema> schema() const override { return schema_; }

  arrow::Status begin(const std::vector<format::WantedColumn>&, const std::vector<int>& places,
                      std::optional<std::int64_t> block) override {
    arrow::ipc::IpcReadOptions options;
    options.included_fields = places;
    ARROW_ASSIGN_OR_RAISE(reader_, arrow::ipc::RecordBatchFileReader::Open(bytes_, options));
    batch_ = static_cast<int>(block.value_or(0));
    end_ = block ? batch_ + 1 : reader_->num_record_batches();
    return arrow::Status::OK();
  }

  std::vector<std::int64_t> blocks() const override {
    std::vector<std::int64_t> rows;
    const auto reader = require(arrow::ipc::RecordBatchFileReader::Open(bytes_), file_);
    for (int i = 0; i < reader->num_record_batches(); ++i) {
      rows.push_back(require(reader->ReadRecordBatch(i), file_)->num_rows());
    }
    return rows;
  }

  arrow::Result<std::shared_ptr<arrow::RecordBatch>> next() override {
    if (batch_ == end_) return nullptr;
    ARROW_ASSIGN_OR_RAISE(std::shared_ptr<arrow::RecordBatch> batch, reader_->ReadRecordBatch(batch_++));
    // Arrow trusts the file's offsets: a damaged file would lead the reader out of the buffers.
    ARROW_RETURN_NOT_OK(batch->ValidateFull());
    return batch;
  }

 private:
  const std::filesystem::path file_;
  const std::shared_ptr<arrow::io::RandomAccessFile> bytes_;
  std::shared_ptr<arrow::Schema> schema_;
  std::shared_ptr<arrow::ipc::RecordBatchFileReader> reader_;
  int batch_ = 0;
  int end_ = 0;
};

}  // namespace

std::unique_ptr<BatchSource> open_parquet(const std::filesystem::path& file,
                                          std::shared_ptr<arrow::io::RandomAccessFile> bytes) {
  return std::make_unique<ParquetSource>(file, std::move(bytes));
}

std::unique_ptr<BatchSource> open_feather(const std::filesystem::path& file,
                                          std::shared_ptr<arrow::io::RandomAccessFile> bytes) {
  return std::make_unique<FeatherSource>(file, std::move(bytes));
}

}  // namespace ddp::tables
