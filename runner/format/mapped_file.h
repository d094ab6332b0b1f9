#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <string_view>

#include "record/file/input_file.h"

namespace ddp::format {

// The bytes of a memory-mapped file. They stay mapped while `memory` lives and must not be written to. All processes
// that map the file share its pages, and unread pages take no memory. The file must not shrink meanwhile: the kernel
// ends a process that reads a missing page with SIGBUS, and the parent names rank and signal.
struct MappedFile {
  std::shared_ptr<const void> memory = {};
  std::string_view bytes = {};
};

// Throws ddp::Error (training) if mmap fails. `writable`: the bytes may be written to; a page that is becomes the
// process's own, and the file stays as it is.
MappedFile map_file(const record::InputFile& file, const std::filesystem::path& name, bool writable = false);

}  // namespace ddp::format
