// A PNG file. libpng must decode the same pixels as the decoder without libpng. Chunks get valid checksums after each
// mutation: otherwise the fuzzer would test little more than the checksums.
#include <algorithm>
#include <cstring>
#include <span>
#include <string>
#include <vector>

#include <zlib.h>

#include "base/error.h"
#include "image.h"
#include "images/decoders.h"
#include "images/png.h"
#include "target.h"

namespace {

// A row of 2^18 pixels, and as many rows of one pixel.
constexpr std::int64_t kMost = 1 << 18;

void compare_with_libpng(std::span<const std::byte> bytes) {
  const std::string name = "image";
  if (!ddp::images::is_png(bytes)) return;
  try {
    const ddp::images::PngHeader header = ddp::images::read_png_header(bytes, name);
    const auto& [height, width] = header.size;
    if (height > kMost / width) return;
    const auto size = static_cast<std::size_t>(3 * height * width);
    std::vector<std::uint8_t> ours(size), theirs(size);
    const ddp::format::Rectangle whole{.height = height, .width = width};
    if (!ddp::images::decode_usual_png(bytes, header, whole, ours.data())) return;
    try {
      ddp::images::decode_by_libpng(bytes, name, header, whole, theirs.data());
    } catch (const ddp::Error&) {
      ddp::fuzz::require(false, "libpng decodes every PNG that is decoded without it");
    }
    ddp::fuzz::require(ours == theirs, "libpng decodes it to the same pixels");
  } catch (const ddp::Error&) {
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  ddp::fuzz::decode_image(data, size);
  compare_with_libpng({reinterpret_cast<const std::byte*>(data), size});
  return 0;
}

// The function of libFuzzer; a program without libFuzzer mutates nothing.
extern "C" std::size_t LLVMFuzzerMutate(std::uint8_t* data, std::size_t size, std::size_t most) __attribute__((weak));

extern "C" std::size_t LLVMFuzzerCustomMutator(std::uint8_t* data, std::size_t size, std::size_t most, unsigned seed) {
  constexpr std::size_t kSignature = 8, kAround = 12;
  size = LLVMFuzzerMutate(data, size, most);
  if (seed % 16 == 0) return size;
  for (std::size_t at = kSignature; at + kAround <= size;) {
    std::size_t bytes = 0;
    for (std::size_t i = 0; i < 4; ++i) bytes = bytes << 8 | data[at + i];
    if (bytes > size - at - kAround) break;
    const auto sum = crc32(0, data + at + 4, static_cast<uInt>(bytes + 4));
    for (std::size_t i = 0; i < 4; ++i) data[at + 8 + bytes + i] = static_cast<std::uint8_t>(sum >> (24 - 8 * i));
    at += kAround + bytes;
  }
  return size;
}
