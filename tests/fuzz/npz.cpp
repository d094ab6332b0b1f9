// An .npz file.
#include "format/npz.h"
#include "base/error.h"
#include "target.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace ddp;
  const auto file = fuzz::scratch_file("x.npz", {reinterpret_cast<const char*>(data), size});
  try {
    const format::NpzFile archive(file);
    for (const std::string& name : archive.names()) {
      try {
        if (!archive.is_deflated(name)) {
          archive.stored(name);
          continue;
        }
        const at::Tensor bytes = archive.inflated(name);
        fuzz::require(bytes.nbytes() <= 1032 * (size + 1), "an array takes no more memory than deflate can pack");
        archive.from_inflated(name, bytes);
      } catch (const Error& error) {
        fuzz::require(fuzz::is_showable(error.what()), "an error is fit for a terminal");
      }
    }
  } catch (const Error& error) {
    fuzz::require(fuzz::is_showable(error.what()), "an error is fit for a terminal");
  }
  return 0;
}
