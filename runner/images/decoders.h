#pragma once

#include <array>
#include <csetjmp>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "base/error.h"
#include "format/image.h"

// The decoders of libddp_images.so, and what they share. Each opens an image that begins like one of its format, and
// throws the errors of format::open_image.
namespace ddp::images {

bool is_jpeg(std::span<const std::byte> bytes);

// Opens a JPEG file: gray, YCbCr, RGB by Adobe's marker, CMYK or YCCK; baseline or progressive. libjpeg-turbo decodes
// it with its defaults, accurate DCT and smooth upsampling, as in Pillow. Also throws if no end-of-image marker follows
// the header, to find a truncated file whatever part is decoded later.
std::unique_ptr<format::ImageFile> open_jpeg(std::span<const std::byte> bytes, const std::string& name);

bool is_png(std::span<const std::byte> bytes);

// Opens a PNG file of up to 8 bits per channel: gray, gray with alpha, RGB, RGBA, or a palette. Ignores transparency
// and gamma, as Pillow's convert("RGB") does; for an animated PNG, decodes its still image. Also throws if a chunk
// reaches beyond the end, to find a truncated file whatever part is decoded later.
std::unique_ptr<format::ImageFile> open_png(std::span<const std::byte> bytes, const std::string& name);

bool is_webp(std::span<const std::byte> bytes);

// Opens a still WebP file, lossy or lossless. Ignores transparency, as Pillow's convert("RGB") does. Also throws if the
// file is shorter than its header says.
std::unique_ptr<format::ImageFile> open_webp(std::span<const std::byte> bytes, const std::string& name);

// Implements format::list_tar.
std::vector<format::TarMember> list_tar(const format::Bytes& file, const std::string& name);

inline constexpr std::int64_t kChannels = 3;  // bytes of a pixel

// Copies rows of RGB that lie `stride` bytes apart to rows without gaps. Returns the end of the last one.
inline std::uint8_t* copy_rows(const std::uint8_t* from, std::int64_t stride, std::int64_t rows, std::int64_t width,
                               std::uint8_t* to) {
  const auto row_bytes = static_cast<std::size_t>(kChannels * width);
  for (; rows > 0; --rows, from += stride, to += row_bytes) std::memcpy(to, from, row_bytes);
  return to;
}

// Errors of images. All of them are ddp::Error (usage) and name the file.

// Data that cannot be decoded. `why` is the library's message.
Error damaged(const std::string& name, const std::string& why);

// Data that end before the image is complete.
Error truncated(const std::string& name);

// An image of an unsupported kind, such as "an animated WebP".
Error unsupported(const std::string& name, const std::string& kind, const std::string& remedy);

// Throws if an image of this size is refused without a look at its data: it is empty, or larger than Pillow allows.
void check_size(const std::string& name, const format::ImageSize& size);

// Calls C libraries whose error handlers must not return: libjpeg and libpng. Their handler calls `leave`, which ends
// the current call (longjmp).
class Guard {
 public:
  // Returns false if `leave` ended `call`. The stack is then unwound without destructors: neither `call` nor its
  // callees may hold an object with a destructor.
  template <class Call>
  bool completes(const Call& call) {
    if (setjmp(back_) != 0) return false;
    call();
    return true;
  }
  // Ends the current call. Keeps `message`, cut to the size of its buffer.
  [[noreturn]] void leave(const char* message) {
    std::snprintf(message_.data(), message_.size(), "%s", message);
    std::longjmp(back_, 1);
  }
  const char* message() const { return message_.data(); }

 private:
  std::jmp_buf back_;
  std::array<char, 256> message_ = {};
};

}  // namespace ddp::images
