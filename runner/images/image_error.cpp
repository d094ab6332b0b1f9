#include "images/image_error.h"

#include "config/text/source.h"

namespace ddp::images {
namespace {

// Twice Image.MAX_IMAGE_PIXELS: above this, Pillow raises DecompressionBombError.
constexpr std::int64_t kMostPixels = 178'956'970;

}  // namespace

Error damaged(const std::string& name, const std::string& why) {
  return usage_error("is damaged: " + config::printable(why), name);
}

Error truncated(const std::string& name) { return usage_error("is truncated: it ends before the image does", name); }

Error unsupported(const std::string& name, const std::string& kind, const std::string& remedy) {
  return usage_error("is " + kind + ", which is not supported", name, remedy);
}

void check_size(const std::string& name, const format::ImageSize& size) {
  if (size.height < 1 || size.width < 1) throw damaged(name, "it has no pixels");
  if (size.width > kMostPixels / size.height) {
    throw usage_error("claims " + std::to_string(size.width) + "x" + std::to_string(size.height) +
                          " pixels; the limit is " + std::to_string(kMostPixels) + " pixels",
                      name, "make it smaller");
  }
}

}  // namespace ddp::images
