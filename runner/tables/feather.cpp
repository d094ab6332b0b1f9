#include "tables/feather.h"

#include <utility>

#include <arrow/ipc/options.h>
#include <arrow/ipc/reader.h>

#include "tables/source.h"

namespace ddp::tables {
namespace {

class FeatherSource : public BatchSource {
 public:
  FeatherSource(const std::filesystem::path& file, std::shared_ptr<arrow::io::RandomAccessFile> bytes)
      : bytes_(std::move(bytes)) {
    schema_ = require(arrow::ipc::RecordBatchFileReader::Open(bytes_), file)->schema();
  }

  std::shared_ptr<arrow::Schema> schema() const override { return schema_; }

  arrow::Status begin(const std::vector<format::WantedColumn>&, const std::vector<int>& places) override {
    arrow::ipc::IpcReadOptions options;
    options.included_fields = places;
    ARROW_ASSIGN_OR_RAISE(reader_, arrow::ipc::RecordBatchFileReader::Open(bytes_, options));
    batch_ = 0;
    return arrow::Status::OK();
  }

  arrow::Result<std::shared_ptr<arrow::RecordBatch>> next() override {
    if (batch_ == reader_->num_record_batches()) return nullptr;
    ARROW_ASSIGN_OR_RAISE(std::shared_ptr<arrow::RecordBatch> batch, reader_->ReadRecordBatch(batch_++));
    // Arrow trusts the file's offsets: a damaged file would lead the reader out of the buffers.
    ARROW_RETURN_NOT_OK(batch->ValidateFull());
    return batch;
  }

 private:
  const std::shared_ptr<arrow::io::RandomAccessFile> bytes_;
  std::shared_ptr<arrow::Schema> schema_;
  std::shared_ptr<arrow::ipc::RecordBatchFileReader> reader_;
  int batch_ = 0;
};

}  // namespace

std::unique_ptr<BatchSource> open_feather(const std::filesystem::path& file,
                                          std::shared_ptr<arrow::io::RandomAccessFile> bytes) {
  return std::make_unique<FeatherSource>(file, std::move(bytes));
}

}  // namespace ddp::tables
