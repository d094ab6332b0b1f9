// An IDX file, compressed or not.
#include "format/idx.h"

#include <sys/mman.h>
#include <unistd.h>

#include "base/error.h"
#include "base/file_descriptor.h"
#include "target.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace ddp;
  const FileDescriptor file(memfd_create("idx", MFD_CLOEXEC));
  fuzz::require(write(file.get(), data, size) == static_cast<ssize_t>(size), "the file can be made");
  try {
    const at::Tensor numbers = format::read_idx("/proc/self/fd/" + std::to_string(file.get()));
    fuzz::require(numbers.scalar_type() == at::kByte && numbers.dim() >= 1 && numbers.dim() <= 4,
                  "numbers have 8 bits and a shape");
  } catch (const Error& error) {
    fuzz::require(fuzz::is_showable(error.what()), "an error is fit for a terminal");
  }
  return 0;
}
