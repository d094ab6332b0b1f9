// A PNG file. Its chunks get right checksums after each mutation: else nothing but the check of these would be tried.
#include <algorithm>
#include <cstring>

#include <zlib.h>

#include "image.h"
#include "target.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  ddp::fuzz::decode_image(data, size);
  return 0;
}

// libFuzzer's own; a program without libFuzzer mutates nothing.
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
