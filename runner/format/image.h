#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>

// Images in files: JPEG, PNG, WebP. The decoders lie in libddp_images.so, which needs libjpeg, libpng, libdeflate and
// libwebp (runner/images); it is loaded by the first process that opens an image.
namespace ddp::format {

struct ImageSize {
  std::int64_t height = 0;
  std::int64_t width = 0;
};

// A part of an image, in pixels from its upper left corner.
struct Rectangle {
  std::int64_t top = 0;
  std::int64_t left = 0;
  std::int64_t height = 0;
  std::int64_t width = 0;
};

// An image as a file holds it, whose header was read. Several threads may use objects of their own at the same time.
class ImageFile {
 public:
  virtual ~ImageFile() = default;
  // The pixels that `decode` can give. EXIF's orientation is ignored.
  virtual ImageSize size() const = 0;
  // Decodes a part to 8-bit RGB: interleaved, row after row of part.width * 3 bytes, without gaps. `part` is not empty
  // and lies within the image. The pixels are those of Pillow's Image.open(file).convert("RGB"), whatever the part.
  // Throws ddp::Error (usage) where the data are damaged or end too early. Only what is decoded is checked: of a
  // baseline JPEG nothing below the part.
  virtual void decode(const Rectangle& part, std::uint8_t* pixels) const = 0;
};

// Opens an image, whose format its bytes tell. `bytes` outlive the result; errors show `name`. Throws ddp::Error (usage)
// where it is none of JPEG, PNG and WebP, is damaged, has more than 178,956,970 pixels (Pillow's bound), or is of a kind
// that is not read: CMYK, 16 bits a channel, animation. Safe to call from several threads.
// Memory is at most 32 MiB and 16 bytes a pixel that the header claims (a progressive JPEG's coefficients, libwebp's
// planes), however small the file is.
std::unique_ptr<ImageFile> open_image(std::span<const std::byte> bytes, const std::string& name);

}  // namespace ddp::format
