#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <string>
#include <string_view>
#include <utility>

#include <arrow/io/file.h>
#include <arrow/result.h>

#include "base/error.h"

namespace ddp::tables {

// Programs of Windows write it at the beginning of a text; it is no part of the text.
inline constexpr std::string_view kByteOrderMark = "\xef\xbb\xbf";

// Opens a regular file. Other files are refused: a pipe could block its reader. Throws ddp::Error (usage).
std::shared_ptr<arrow::io::ReadableFile> open_file(const std::filesystem::path& file);

// Opens the bytes of a file, decompressed if it is a gzip file. Throws ddp::Error (usage).
std::shared_ptr<arrow::io::InputStream> open_stream(const std::filesystem::path& file);

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
