#include "format/mapped_file.h"

#include <sys/mman.h>
#include <cerrno>

#include "base/error.h"
#include "base/file_descriptor.h"

namespace ddp::format {

MappedFile map_file(const record::InputFile& file, const std::filesystem::path& name) {
  const std::uint64_t size = file.size();
  if (size == 0) return {};
  void* pages = mmap(nullptr, size, PROT_READ, MAP_PRIVATE, file.descriptor(), 0);
  if (pages == MAP_FAILED) throw training_error("cannot be mapped: " + errno_text(errno), name.string());
  return {.memory = {pages, [size](void* begin) { munmap(begin, size); }},
          .bytes = {static_cast<const char*>(pages), size}};
}

}  // namespace ddp::format
