#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
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

  // The same, some rows at a time, from the top: so that they are used while they lie in the cache. `use` gets them
  // with the bytes from one row to the next; they are gone when it returns.
  using UseRows = std::function<void(const std::uint8_t* pixels, std::int64_t rows, std::int64_t row_stride)>;
  virtual void decode_rows(const Rectangle& part, const UseRows& use) const {
    const auto row_bytes = 3 * part.width;
    const auto pixels =
        std::make_unique_for_overwrite<std::uint8_t[]>(static_cast<std::size_t>(part.height * row_bytes));
    decode(part, pixels.get());
    use(pixels.get(), part.height, row_bytes);
  }
};

// Opens an image, whose format its bytes tell. `bytes` outlive the result; errors show `name`. Throws ddp::Error
// (usage) where it is none of JPEG, PNG and WebP, is damaged, has more than 178,956,970 pixels (Pillow's bound), or is
// of a kind that is not read: CMYK, 16 bits a channel, animation. Safe to call from several threads. Memory is at most
// 32 MiB and 16 bytes a pixel that the header claims (a progressive JPEG's coefficients, libwebp's planes), however
// small the file is.
std::unique_ptr<ImageFile> open_image(std::span<const std::byte> bytes, const std::string& name);

}  // namespace ddp::format
