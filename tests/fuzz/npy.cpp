// An .npy file.
#include "format/npy.h"

#include <algorithm>

#include "base/error.h"
#include "target.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace ddp;
  const std::string_view bytes(reinterpret_cast<const char*>(data), size);
  try {
    const format::Array array = format::npy_array(bytes, nullptr, "x.npy");
    const bool empty = std::count(array.shape.begin(), array.shape.end(), 0) > 0;
    const char* last = array.data + format::size_of(array.element);
    for (std::size_t i = 0; !empty && i < array.shape.size(); ++i) last += (array.shape[i] - 1) * array.strides[i];
    fuzz::require(empty || last <= bytes.data() + size, "an array lies within its file");
  } catch (const Error& error) {
    fuzz::require(fuzz::is_showable(error.what()), "an error is fit for a terminal");
  }
  return 0;
}
