#include "tables/formats.h"

#include <fcntl.h>
#include <algorithm>
#include <cerrno>
#include <exception>
#include <utility>

#include <arrow/array/array_primitive.h>
#include <arrow/array/builder_binary.h>
#include <arrow/buffer.h>
#include <arrow/io/file.h>
#include <arrow/record_batch.h>
#include <arrow/type.h>
#include <parquet/arrow/writer.h>
#include <parquet/properties.h>

#include "base/error.h"
#include "base/file_descriptor.h"
#include "config/text/source.h"
#include "tables/source.h"

namespace ddp::tables {
namespace {

using format::OutputColumn;
using format::OutputType;

// A row group stays in memory until it is complete.
constexpr std::int64_t kGroupBytes = 64 << 20;
constexpr std::int64_t kMostGroupRows = 1 << 20;

std::shared_ptr<arrow::DataType> type_of_output(OutputType type) {
  switch (type) {
    case OutputType::text:
    case OutputType::label:
      return arrow::utf8();
    case OutputType::integer:
      return arrow::int64();
    case OutputType::float32:
      return arrow::float32();
    case OutputType::float64:
      break;
  }
  return arrow::float64();
}

std::shared_ptr<arrow::Schema> schema_of(const std::vector<OutputColumn>& columns) {
  arrow::FieldVector fields;
  for (const OutputColumn& column : columns) {
    fields.push_back(arrow::field(column.name, type_of_output(column.type), /*nullable=*/false));
  }
  return arrow::schema(fields);
}

// Numbers rarely repeat: Parquet would try a dictionary for them and give up.
std::shared_ptr<parquet::WriterProperties> properties_of(const std::vector<OutputColumn>& columns) {
  std::int64_t row_bytes = 0;
  parquet::WriterProperties::Builder builder;
  builder.compression(parquet::Compression::SNAPPY)->disable_dictionary();
  for (const OutputColumn& column : columns) {
    row_bytes += static_cast<std::int64_t>(format::bytes_of_cell(column.type));
    if (column.type == OutputType::text) builder.enable_dictionary(column.name);
  }
  const std::int64_t rows = kGroupBytes / std::max<std::int64_t>(1, row_bytes);
  return builder.max_row_group_length(std::clamp<std::int64_t>(rows, 1, kMostGroupRows))->build();
}

// Returns an array of the text of each row.
template <class TextOf>
arrow::Result<std::shared_ptr<arrow::Array>> text_array(std::int64_t rows, const TextOf& text_of) {
  arrow::StringBuilder builder;
  ARROW_RETURN_NOT_OK(builder.Reserve(rows));
  for (std::int64_t row = 0; row < rows; ++row) ARROW_RETURN_NOT_OK(builder.Append(text_of(row)));
  return builder.Finish();
}

// Wraps the cells without a copy.
arrow::Result<std::shared_ptr<arrow::Array>> array_over(const OutputColumn& column, std::int64_t rows,
                                                        const void* cells) {
  if (column.type == OutputType::text) {
    const auto* places = static_cast<const std::int32_t*>(cells);
    return text_array(rows, [&](std::int64_t row) { return column.values.at(static_cast<std::size_t>(places[row])); });
  }
  if (column.type == OutputType::label) {
    const char* next = static_cast<const char*>(cells);
    return text_array(rows, [&](std::int64_t) {
      const std::string label = next;
      next += label.size() + 1;
      return is_utf8(label) ? label : config::printable(label);  // file names may not be UTF-8, but Parquet texts are
    });
  }
  const auto bytes = rows * static_cast<std::int64_t>(format::bytes_of_cell(column.type));
  const auto buffer = std::make_shared<arrow::Buffer>(static_cast<const std::uint8_t*>(cells), bytes);
  return arrow::MakeArray(
      arrow::ArrayData::Make(type_of_output(column.type), rows, {nullptr, buffer}, /*null_count=*/0));
}

class ParquetWriter : public format::TableWriter {
 public:
  ParquetWriter(int descriptor, std::vector<OutputColumn> columns, std::string name)
      : columns_(std::move(columns)), name_(std::move(name)), schema_(schema_of(columns_)) {
    const int kept = fcntl(descriptor, F_DUPFD_CLOEXEC, 3);  // Arrow closes its descriptor
    if (kept < 0) throw training_error("cannot write: " + errno_text(errno), name_);
    file_ = take(arrow::io::FileOutputStream::Open(kept));
    writer_ =
        take(parquet::arrow::FileWriter::Open(*schema_, arrow::default_memory_pool(), file_, properties_of(columns_)));
  }

  void write(std::int64_t rows, const std::vector<const void*>& columns) override {
    as_failure([&] {
      arrow::ArrayVector arrays;
      for (std::size_t i = 0; i < columns_.size(); ++i) {
        arrays.push_back(take(array_over(columns_[i], rows, columns[i])));
      }
      check(writer_->WriteRecordBatch(*arrow::RecordBatch::Make(schema_, rows, std::move(arrays))));
    });
  }

  void close() override {
    as_failure([&] {
      check(writer_->Close());
      check(file_->Close());
    });
  }

 private:
  Error failure(const std::string& why) const {
    return training_error("cannot write: " + config::printable(why), name_);
  }
  void check(const arrow::Status& status) const {
    if (!status.ok()) throw failure(status.message());
  }
  // Runs `call` and reports Parquet's exceptions as a failure to write.
  template <class Call>
  void as_failure(const Call& call) const try {
    call();
  } catch (const Error&) {
    throw;
  } catch (const std::exception& error) {
    throw failure(error.what());
  }
  template <class Value>
  Value take(arrow::Result<Value> result) const {
    check(result.status());
    return std::move(result).ValueUnsafe();
  }

  const std::vector<OutputColumn> columns_;
  const std::string name_;
  const std::shared_ptr<arrow::Schema> schema_;
  std::shared_ptr<arrow::io::FileOutputStream> file_;
  std::unique_ptr<parquet::arrow::FileWriter> writer_;
};

}  // namespace

std::unique_ptr<format::TableWriter> open_parquet_writer(int descriptor, const std::vector<OutputColumn>& columns,
                                                         const std::string& name) {
  return std::make_unique<ParquetWriter>(descriptor, columns, name);
}

}  // namespace ddp::tables
