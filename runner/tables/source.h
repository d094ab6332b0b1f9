#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <string>
#include <utility>

#include <arrow/io/file.h>
#include <arrow/result.h>

#include "base/error.h"

namespace ddp::tables {

// Opens a regular file; others are refused, since a pipe lets its reader wait. Throws ddp::Error (usage).
std::shared_ptr<arrow::io::ReadableFile> open_file(const std::filesystem::path& file);

// The bytes of a file from its first one, unpacked where it is a gzip file. Throws ddp::Error (usage).
std::shared_ptr<arrow::io::InputStream> open_stream(const std::filesystem::path& file);

// Says that Arrow refuses a file, in its words.
Error refusal(const arrow::Status& status, const std::filesystem::path& file);

inline void require(const arrow::Status& status, const std::filesystem::path& file) {
  if (!status.ok()) throw refusal(status, file);
}

template <class Value>
Value require(arrow::Result<Value> result, const std::filesystem::path& file) {
  if (!result.ok()) throw refusal(result.status(), file);
  return std::move(result).ValueUnsafe();
}

}  // namespace ddp::tables
