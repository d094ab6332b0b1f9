#include "images/png.h"

#include <png.h>

#include "images/image_error.h"
#include "images/png_decompression.h"
#include "images/png_header.h"
#include "images/png_stream.h"

namespace ddp::images {
namespace {

class PngFile : public format::ImageFile {
 public:
  PngFile(std::span<const std::byte> bytes, const std::string& name)
      : bytes_(bytes), name_(name), header_(read_png_header(bytes_, name_)) {
    if (header_.bits > 8) throw unsupported(name, "a PNG of 16 bits per channel", "save it with 8 bits");
  }

  format::ImageSize size() const override { return header_.size; }

  void decode(const format::Rectangle& part, std::uint8_t* pixels) const override {
    if (decode_usual_png(bytes_, header_, part, pixels)) return;
    decode_by_libpng(bytes_, name_, header_, part, pixels);
  }

 private:
  const std::span<const std::byte> bytes_;
  const std::string name_;
  const PngHeader header_;
};

}  // namespace

bool is_png(std::span<const std::byte> bytes) {
  return bytes.size() >= 8 && png_sig_cmp(reinterpret_cast<const png_byte*>(bytes.data()), 0, 8) == 0;
}

std::unique_ptr<format::ImageFile> open_png(std::span<const std::byte> bytes, const std::string& name) {
  return std::make_unique<PngFile>(bytes, name);
}

}  // namespace ddp::images
