#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include <arrow/buffer.h>
#include <arrow/io/interfaces.h>
#include <arrow/result.h>

#include "base/error.h"
#include "format/table.h"

namespace ddp::tables {

// Programs of Windows write it at the beginning of a text; it is no part of the text.
inline constexpr std::string_view kByteOrderMark = "\xef\xbb\xbf";

// Opens a regular file, or what TableOptions::open opens. Other files are refused: a pipe could block its reader.
// Throws ddp::Error (usage).
std::shared_ptr<arrow::io::RandomAccessFile> open_file(const std::filesystem::path& file,
                                                       const format::TableOptions& options);

// A part of the content of a file, in bytes; of a compressed file it has no size.
struct Span {
  std::int64_t begin = 0;
  std::optional<std::int64_t> size = {};  // nothing: up to the end
};

// Opens the bytes of a file, decompressed if it is a gzip or a zstd file. Throws ddp::Error (usage).
std::shared_ptr<arrow::io::InputStream> open_stream(const std::filesystem::path& file,
                                                    const format::TableOptions& options, const Span& span = {});

// Is the file compressed? Then its blocks cannot be read by themselves.
bool is_compressed(const std::filesystem::path& file, const format::TableOptions& options);

// A stream of bytes that a class computes. The class gives Read into memory, and moves position_.
class ComputedStream : public arrow::io::InputStream {
 public:
  arrow::Status Close() override {
    is_closed_ = true;
    return arrow::Status::OK();
  }
  bool closed() const override { return is_closed_; }
  arrow::Result<std::int64_t> Tell() const override { return position_; }
  arrow::Result<std::int64_t> Read(std::int64_t most, void* out) override = 0;
  arrow::Result<std::shared_ptr<arrow::Buffer>> Read(std::int64_t most) override {
    ARROW_ASSIGN_OR_RAISE(std::shared_ptr<arrow::ResizableBuffer> bytes, arrow::AllocateResizableBuffer(most));
    ARROW_ASSIGN_OR_RAISE(const std::int64_t size, Read(most, bytes->mutable_data()));
    ARROW_RETURN_NOT_OK(bytes->Resize(size));
    return bytes;
  }

 protected:
  std::int64_t position_ = 0;

 private:
  bool is_closed_ = false;
};

// Returns the error of a file that Arrow refused, with Arrow's message.
Error refusal(const arrow::Status& status, const std::filesystem::path& file);

inline void require(const arrow::Status& status, const std::filesystem::path& file) {
  if (!status.ok()) throw refusal(status, file);
}

template <class Value>
Value require(arrow::Result<Value> result, const std::filesystem::path& file) {
  if (!result.ok()) throw refusal(result.status(), file);
  return std::move(result).ValueUnsafe();
}

bool is_utf8(std::string_view text);

// Returns the error of a text with a byte that is not UTF-8. `holder`: the part of the line with the text, such as
// `column "city"`.
Error not_utf8(const std::filesystem::path& file, std::int64_t line, const std::string& holder, std::string_view text);

}  // namespace ddp::tables
