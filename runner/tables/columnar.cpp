#include <optional>
#include <string>
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

// Reads one row group at a time, and only the wanted columns; threads decode columns in parallel. The metadata of each
// row group stay as Parquet writes them: Arrow's form of them takes eight times the memory, 20 MB for 400 row groups of
// 64 columns.
class ParquetSource : public BatchSource {
 public:
  ParquetSource(const std::filesystem::path& file, std::shared_ptr<arrow::io::RandomAccessFile> bytes)
      : bytes_(std::move(bytes)) {
    const auto whole = require(open(nullptr), file);
    require(whole->GetSchema(&schema_), file);
    for (const auto& field : whole->manifest().schema_fields) columns_.push_back(field.column_index);
    const auto metadata = whole->parquet_reader()->metadata();
    for (int i = 0; i < metadata->num_row_groups(); ++i) {
      rows_.push_back(metadata->RowGroup(i)->num_rows());
      groups_.push_back(metadata->Subset({i})->SerializeToString());
    }
  }

  std::shared_ptr<arrow::Schema> schema() const override { return schema_; }

  arrow::Status begin(const std::vector<format::WantedColumn>&, const std::vector<int>& places,
                      std::optional<std::int64_t> block) override {
    leaves_.clear();
    for (const int place : places) leaves_.push_back(columns_.at(static_cast<std::size_t>(place)));
    group_ = static_cast<std::size_t>(block.value_or(0));
    end_ = block ? group_ + 1 : groups_.size();
    batches_ = nullptr;
    return arrow::Status::OK();
  }

  std::vector<std::int64_t> blocks() const override { return rows_; }

  arrow::Result<std::shared_ptr<arrow::RecordBatch>> next() override {
    for (;;) {
      if (batches_ == nullptr) {
        if (group_ == end_) return nullptr;
        const std::string& written = groups_.at(group_++);
        ARROW_ASSIGN_OR_RAISE(
            reader_, open(parquet::FileMetaData::Make(written.data(), static_cast<std::int64_t>(written.size()))));
        ARROW_ASSIGN_OR_RAISE(batches_, reader_->GetRecordBatchReader({0}, leaves_));
      }
      ARROW_ASSIGN_OR_RAISE(std::shared_ptr<arrow::RecordBatch> batch, batches_->Next());
      if (batch != nullptr) return batch;
      batches_ = nullptr;
    }
  }

 private:
  // Without metadata, they are read from the file.
  arrow::Result<std::unique_ptr<parquet::arrow::FileReader>> open(
      std::shared_ptr<parquet::FileMetaData> metadata) const {
    // Pages are read on demand: a row group may be large.
    parquet::ReaderProperties reading;
    reading.enable_buffered_stream();
    reading.set_buffer_size(1 << 20);
    parquet::ArrowReaderProperties decoding;
    decoding.set_use_threads(true);
    decoding.set_pre_buffer(false);
    decoding.set_batch_size(kParquetRows);
    parquet::arrow::FileReaderBuilder builder;
    ARROW_RETURN_NOT_OK(builder.Open(bytes_, reading, std::move(metadata)));
    return builder.properties(decoding)->Build();
  }

  const std::shared_ptr<arrow::io::RandomAccessFile> bytes_;
  std::shared_ptr<arrow::Schema> schema_;
  std::vector<int> columns_;         // of the fields, in the file
  std::vector<std::int64_t> rows_;   // of the row groups
  std::vector<std::string> groups_;  // metadata of each row group, in Parquet's form
  std::vector<int> leaves_;
  std::size_t group_ = 0;
  std::size_t end_ = 0;
  std::unique_ptr<parquet::arrow::FileReader> reader_;
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
