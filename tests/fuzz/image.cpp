#include "image.h"

#include <algorithm>
#include <memory>
#include <vector>

#include "base/error.h"
#include "format/image.h"
#include "target.h"

namespace ddp::fuzz {
namespace {

constexpr std::int64_t kMostPixels = 1 << 18;
constexpr std::int64_t kRgb = 3;

std::vector<std::uint8_t> decode(const format::ImageFile& image, const format::Rectangle& part) {
  std::vector<std::uint8_t> pixels(static_cast<std::size_t>(part.height * part.width * kRgb));
  image.decode(part, pixels.data());
  return pixels;
}

// A part that depends on the last bytes, which matter little to every format.
format::Rectangle choose_part(const std::uint8_t* data, std::size_t size, const format::ImageSize& image) {
  const auto byte = [&](std::size_t i) { return i < size ? std::int64_t{data[size - 1 - i]} : std::int64_t{0}; };
  format::Rectangle part{.top = byte(0) * 7 % image.height, .left = byte(1) * 11 % image.width};
  part.height = 1 + byte(2) * 7 % (image.height - part.top);
  part.width = 1 + byte(3) * 11 % (image.width - part.left);
  return part;
}

void compare(const std::vector<std::uint8_t>& whole, std::int64_t width, const std::vector<std::uint8_t>& pixels,
             const format::Rectangle& part) {
  for (std::int64_t row = 0; row < part.height; ++row) {
    const auto from = whole.begin() + ((part.top + row) * width + part.left) * kRgb;
    require(std::equal(from, from + part.width * kRgb, pixels.begin() + row * part.width * kRgb),
            "a part has the pixels that it has in the whole");
  }
}

}  // namespace

void decode_image(const std::uint8_t* data, std::size_t size) {
  const std::span<const std::byte> bytes(reinterpret_cast<const std::byte*>(data), size);
  const std::string name = "image";
  try {
    const std::unique_ptr<format::ImageFile> image(ddp_open_image(&bytes, &name));
    const format::ImageSize extent = image->size();
    if (extent.height > kMostPixels / extent.width) return;
    const format::Rectangle part = choose_part(data, size, extent);
    const std::vector<std::uint8_t> whole = decode(*image, {.height = extent.height, .width = extent.width});
    compare(whole, extent.width, decode(*image, part), part);
  } catch (const Error& error) {
    require(is_showable(error.what()), "an error can be shown");
  }
}

}  // namespace ddp::fuzz
