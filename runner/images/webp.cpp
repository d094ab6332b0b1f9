#include <algorithm>
#include <string_view>
#include <vector>

#include <webp/decode.h>

#include "images/decoders.h"

namespace ddp::images {
namespace {

constexpr std::size_t kRiffBytes = 8;  // "RIFF" and the number of bytes that follow
// libwebp starts a part at an even position and upsamples colours at its edges as at the edges of the image.
constexpr std::int64_t kMargin = 2;

const std::uint8_t* data_of(std::span<const std::byte> bytes) {
  return reinterpret_cast<const std::uint8_t*>(bytes.data());
}

std::string_view text_at(std::span<const std::byte> bytes, std::size_t offset) {
  return {reinterpret_cast<const char*>(bytes.data()) + offset, 4};
}

std::uint64_t little_endian(std::span<const std::byte> bytes) {
  std::uint64_t value = 0;
  for (std::size_t i = 4; i-- > 0;) value = value << 8 | std::to_integer<std::uint64_t>(bytes[i]);
  return value;
}

// The part that libwebp decodes.
format::Rectangle widened(const format::Rectangle& part, const format::ImageSize& size) {
  const std::int64_t top = std::max<std::int64_t>(part.top - kMargin, 0) & ~std::int64_t{1};
  const std::int64_t left = std::max<std::int64_t>(part.left - kMargin, 0) & ~std::int64_t{1};
  return {.top = top,
          .left = left,
          .height = std::min(part.top + part.height + kMargin, size.height) - top,
          .width = std::min(part.left + part.width + kMargin, size.width) - left};
}

class WebpFile : public format::ImageFile {
 public:
  WebpFile(std::span<const std::byte> bytes, const std::string& name) : bytes_(bytes), name_(name) {
    if (little_endian(bytes_.subspan(4)) > bytes_.size() - kRiffBytes) throw truncated(name_);
    WebPBitstreamFeatures features{};
    const VP8StatusCode status = WebPGetFeatures(data_of(bytes_), bytes_.size(), &features);
    if (status != VP8_STATUS_OK) throw error_of(status);
    if (features.has_animation != 0) throw unsupported(name_, "an animated WebP", "save one of its pictures");
    size_ = {.height = features.height, .width = features.width};
    check_size(name_, size_);
  }

  format::ImageSize size() const override { return size_; }

  void decode(const format::Rectangle& part, std::uint8_t* pixels) const override {
    const format::Rectangle asked = widened(part, size_);
    const std::size_t stride = static_cast<std::size_t>(asked.width * kChannels);
    std::vector<std::uint8_t> decoded(stride * static_cast<std::size_t>(asked.height));
    WebPDecoderConfig config;
    if (WebPInitDecoderConfig(&config) == 0) throw usage_error("has another version than its headers", "libwebp");
    config.options.use_cropping = 1;
    config.options.crop_top = static_cast<int>(asked.top);
    config.options.crop_left = static_cast<int>(asked.left);
    config.options.crop_height = static_cast<int>(asked.height);
    config.options.crop_width = static_cast<int>(asked.width);
    config.output.colorspace = MODE_RGB;
    config.output.is_external_memory = 1;
    config.output.u.RGBA = {.rgba = decoded.data(), .stride = static_cast<int>(stride), .size = decoded.size()};
    const VP8StatusCode status = WebPDecode(data_of(bytes_), bytes_.size(), &config);
    WebPFreeDecBuffer(&config.output);
    if (status != VP8_STATUS_OK) throw error_of(status);
    const std::uint8_t* first = decoded.data() + static_cast<std::size_t>(part.top - asked.top) * stride +
                                static_cast<std::size_t>((part.left - asked.left) * kChannels);
    copy_rows(first, static_cast<std::int64_t>(stride), part.height, part.width, pixels);
  }

 private:
  Error error_of(VP8StatusCode status) const {
    switch (status) {
      case VP8_STATUS_NOT_ENOUGH_DATA:
      case VP8_STATUS_SUSPENDED:
        return truncated(name_);
      case VP8_STATUS_OUT_OF_MEMORY:
        return usage_error("needs more memory than is available", name_);
      case VP8_STATUS_UNSUPPORTED_FEATURE:
        return unsupported(name_, "an unknown kind of WebP", "save it again");
      default:
        return damaged(name_, "libwebp cannot decode it");
    }
  }

  const std::span<const std::byte> bytes_;
  const std::string name_;
  format::ImageSize size_ = {};
};

}  // namespace

bool is_webp(std::span<const std::byte> bytes) {
  return bytes.size() >= 12 && text_at(bytes, 0) == "RIFF" && text_at(bytes, 8) == "WEBP";
}

std::unique_ptr<format::ImageFile> open_webp(std::span<const std::byte> bytes, const std::string& name) {
  return std::make_unique<WebpFile>(bytes, name);
}

}  // namespace ddp::images
