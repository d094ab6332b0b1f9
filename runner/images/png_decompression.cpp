#include "images/png_decompression.h"

#include <cstring>
#include <vector>

#include <png.h>

#include "images/guard.h"
#include "images/image_error.h"

namespace ddp::images {
namespace {

constexpr std::int64_t kChannelsOfPng = 3;

// libpng's state for one image in memory. Warnings are ignored. Each call throws ddp::Error (usage) if libpng fails.
class PngDecompression {
 public:
  PngDecompression(std::span<const std::byte> bytes, const std::string& name) : left_(bytes), name_(name) {
    png_ = png_create_read_struct(PNG_LIBPNG_VER_STRING, this, leave, ignore);
    if (png_ != nullptr) info_ = png_create_info_struct(png_);
    if (info_ == nullptr) {
      png_destroy_read_struct(&png_, nullptr, nullptr);
      throw usage_error("needs more memory than is available", name);
    }
  }
  ~PngDecompression() { png_destroy_read_struct(&png_, &info_, nullptr); }
  PngDecompression(const PngDecompression&) = delete;
  PngDecompression& operator=(const PngDecompression&) = delete;

  // Reads the chunks before the pixels. Rows are RGB from here on, with the header's width.
  void start(const PngHeader& header) {
    run([&] {
      png_set_read_fn(png_, this, read);
      png_set_user_limits(png_, static_cast<png_uint_32>(header.size.width),
                          static_cast<png_uint_32>(header.size.height));
      // Skips texts and profiles, which may be compressed, without decompressing them.
      png_set_keep_unknown_chunks(png_, PNG_HANDLE_CHUNK_NEVER, nullptr, -1);
      png_read_info(png_, info_);
      convert_to_rgb();
      if (header.interlaced) png_set_interlace_handling(png_);
      png_read_update_info(png_, info_);
      if (png_get_rowbytes(png_, info_) != static_cast<std::size_t>(header.size.width * kChannelsOfPng)) {
        png_error(png_, "its rows have another size than its header says");
      }
    });
  }
  // Reads a row, or skips it if `row` is null.
  void read_row(std::uint8_t* row) {
    run([&] { png_read_row(png_, row, nullptr); });
  }
  void read_image(std::uint8_t** rows) {
    run([&] { png_read_image(png_, rows); });
  }

 private:
  template <class Call>
  void run(const Call& call) {
    if (guard_.completes(call)) return;
    throw damaged(name_, guard_.message());
  }
  void convert_to_rgb() {
    const png_byte color = png_get_color_type(png_, info_);
    if (color == PNG_COLOR_TYPE_PALETTE) png_set_palette_to_rgb(png_);
    if ((color & PNG_COLOR_MASK_COLOR) == 0) {
      if (png_get_bit_depth(png_, info_) < 8) png_set_expand_gray_1_2_4_to_8(png_);
      png_set_gray_to_rgb(png_);
    }
    // A palette image also gets the alpha channel of its transparency.
    png_set_strip_alpha(png_);
  }

  [[noreturn]] static void leave(png_structp png, png_const_charp message) {
    static_cast<PngDecompression*>(png_get_error_ptr(png))->guard_.leave(message);
  }
  static void ignore(png_structp, png_const_charp) {}
  static void read(png_structp png, png_bytep target, std::size_t count) {
    std::span<const std::byte>& left = static_cast<PngDecompression*>(png_get_io_ptr(png))->left_;
    if (count > left.size()) png_error(png, "it ends before the image does");
    std::memcpy(target, left.data(), count);
    left = left.subspan(count);
  }

  std::span<const std::byte> left_;
  const std::string& name_;
  Guard guard_;
  png_structp png_ = nullptr;
  png_infop info_ = nullptr;
};

// Interlaced images have seven passes over the whole image, each finer than the one before.
void decode_interlaced(PngDecompression& png, const PngHeader& header, const format::Rectangle& part,
                       std::uint8_t* pixels) {
  const std::size_t row_bytes = static_cast<std::size_t>(header.size.width * kChannelsOfPng);
  std::vector<std::uint8_t> decoded(row_bytes * static_cast<std::size_t>(header.size.height));
  std::vector<std::uint8_t*> rows;
  for (std::size_t at = 0; at < decoded.size(); at += row_bytes) rows.push_back(decoded.data() + at);
  png.read_image(rows.data());
  const std::size_t part_bytes = static_cast<std::size_t>(part.width * kChannelsOfPng);
  for (std::int64_t row = part.top; row < part.top + part.height; ++row, pixels += part_bytes) {
    std::memcpy(pixels, rows[static_cast<std::size_t>(row)] + part.left * kChannelsOfPng, part_bytes);
  }
}

}  // namespace

void decode_by_libpng(std::span<const std::byte> bytes, const std::string& name, const PngHeader& header,
                      const format::Rectangle& part, std::uint8_t* pixels) {
  PngDecompression png(bytes, name);
  png.start(header);
  const std::size_t row_bytes = static_cast<std::size_t>(header.size.width * kChannelsOfPng);
  if (header.interlaced) {
    decode_interlaced(png, header, part, pixels);
    return;
  }
  for (std::int64_t row = 0; row < part.top; ++row) png.read_row(nullptr);
  std::vector<std::uint8_t> decoded(part.width < header.size.width ? row_bytes : 0);
  const std::size_t part_bytes = static_cast<std::size_t>(part.width * kChannelsOfPng);
  for (std::int64_t row = 0; row < part.height; ++row, pixels += part_bytes) {
    png.read_row(decoded.empty() ? pixels : decoded.data());
    if (!decoded.empty()) std::memcpy(pixels, decoded.data() + part.left * kChannelsOfPng, part_bytes);
  }
}

}  // namespace ddp::images
