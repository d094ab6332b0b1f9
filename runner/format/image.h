#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "format/bytes.h"

// Images in files: JPEG, PNG, WebP. The decoders are in libddp_images.so, which needs libjpeg, libpng, libdeflate and
// libwebp (runner/images). A process loads it when it first opens an image.
namespace ddp::format {

struct ImageSize {
  std::int64_t height = 0;
  std::int64_t width = 0;
};

// A part of an image in pixels, from the upper left corner.
struct Rectangle {
  std::int64_t top = 0;
  std::int64_t left = 0;
  std::int64_t height = 0;
  std::int64_t width = 0;
};

// An image in a file whose header was read. Several threads may use different objects at the same time.
class ImageFile {
 public:
  virtual ~ImageFile() = default;
  // The size that `decode` can decode. EXIF's orientation is ignored.
  virtual ImageSize size() const = 0;
  // Decodes a part to 8-bit RGB: interleaved, in rows of part.width * 3 bytes without gaps. `part` must not be empty
  // and must be inside the image. For any part, the pixels equal the result of Pillow's
  // Image.open(file).convert("RGB"). Throws ddp::Error (usage) if the data are damaged or end too early. Checks only
  // the decoded data: in a baseline JPEG, nothing below the part.
  virtual void decode(const Rectangle& part, std::uint8_t* pixels) const = 0;

  // The same, a few rows at a time from the top, to use them while they are in the cache. `use` gets the rows and their
  // stride in bytes; they are valid until it returns.
  using UseRows = std::function<void(const std::uint8_t* pixels, std::int64_t rows, std::int64_t row_stride)>;
  virtual void decode_rows(const Rectangle& part, const UseRows& use) const {
    const auto row_bytes = 3 * part.width;
    const auto pixels =
        std::make_unique_for_overwrite<std::uint8_t[]>(static_cast<std::size_t>(part.height * row_bytes));
    decode(part, pixels.get());
    use(pixels.get(), part.height, row_bytes);
  }
};

// Opens an image; its bytes determine its format. `bytes` must outlive the result; `name` is for errors. Throws
// ddp::Error (usage) if the image is not JPEG, PNG or WebP, is damaged, has more than 178,956,970 pixels (Pillow's
// limit), or has an unsupported kind: 16 bits per channel, animation. Thread-safe. Memory is at most 32 MiB plus
// 16 bytes per pixel of the header's size (a progressive JPEG's coefficients, libwebp's planes), however small the file
// is.
std::unique_ptr<ImageFile> open_image(std::span<const std::byte> bytes, const std::string& name);

// Archives whose members are read in place. Listing an archive needs libddp_images.so (runner/images), which has
// libarchive. A process loads it when it first lists an archive.
struct TarMember {
  std::string name;
  std::int64_t offset = 0;  // file offset of the first byte of its data
  std::int64_t size = 0;    // bytes
};

// Returns the regular files of an archive (ustar, pax, GNU) in their order. Reads only the headers. Throws ddp::Error
// (usage) if the file cannot be read, is not a tar archive, is compressed, ends within a member, or has a sparse
// member, whose data cannot be read in place. `name` is for errors.
std::vector<TarMember> list_tar(const Bytes& file, const std::string& name);

}  // namespace ddp::format

// The entry points of libddp_images.so (runner/images) for open_image and list_tar. The caller owns the image that
// ddp_open_image returns; ddp_list_tar appends to `members`. Each throws the same errors as its namesake.
extern "C" ddp::format::ImageFile* ddp_open_image(const std::span<const std::byte>* bytes, const std::string* name);
extern "C" void ddp_list_tar(const ddp::format::Bytes* file, const std::string* name,
                             std::vector<ddp::format::TarMember>* members);
