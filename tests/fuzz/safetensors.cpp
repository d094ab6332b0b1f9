// A safetensors file.
#include "format/safetensors.h"
#include "base/error.h"
#include "target.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace ddp;
  const auto file = fuzz::scratch_file("x.safetensors", {reinterpret_cast<const char*>(data), size});
  try {
    std::size_t bytes = 0;
    for (const auto& [name, tensor] : format::read_safetensors(file)) bytes += tensor.nbytes();
    fuzz::require(bytes <= size, "tensors take no more memory than the file has bytes");
  } catch (const Error& error) {
    fuzz::require(fuzz::is_showable(error.what()), "an error is fit for a terminal");
  }
  return 0;
}
