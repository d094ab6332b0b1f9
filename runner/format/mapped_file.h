#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <string_view>

#include "record/file/input_file.h"

namespace ddp::format {

// The bytes of a file in its pages, which stay mapped while `memory` lives and must not be written to. All processes
// that map one file share them, and what is not read takes no memory. The file must not become shorter meanwhile: the
// kernel ends a process that reads a page which is gone, with SIGBUS. The parent then names rank and signal.
struct MappedFile {
  std::shared_ptr<const void> memory = {};
  std::string_view bytes = {};
};

// Throws ddp::Error (training) where the pages cannot be mapped.
MappedFile map_file(const record::InputFile& file, const std::filesystem::path& name);

}  // namespace ddp::format
