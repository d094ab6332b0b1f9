#include <png.h>

#include <bit>
#include <cstring>
#include <vector>

#include "images/decoders.h"
#include "images/png.h"

namespace ddp::images {
namespace {

constexpr std::size_t kBytesBeforeData = 8;    // of a chunk: length and name
constexpr std::size_t kBytesAroundChunk = 12;  // and the checksum
constexpr std::size_t kHeaderBytes = 13;       // the data of IHDR

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
      if (png_get_rowbytes(png_, info_) != static_cast<std::size_t>(header.size.width * kChannels)) {
        png_error(png_, "its rows have another size than its header says");
      }
    });
  }

  // Reads the rows of a part, and stops after the last one. `row` holds one row of the image; null: the part is as
  // wide as the image.
  void read_part(const format::Rectangle& part, std::uint8_t* row, std::uint8_t* pixels) {
    const auto part_bytes = static_cast<std::size_t>(part.width * kChannels);
    run([&] {
      for (std::int64_t i = 0; i < part.top; ++i) png_read_row(png_, nullptr, nullptr);
      for (std::int64_t i = 0; i < part.height; ++i) {
        std::uint8_t* const to = pixels + static_cast<std::size_t>(i) * part_bytes;
        png_read_row(png_, row != nullptr ? row : to, nullptr);
        if (row != nullptr) std::memcpy(to, row + part.left * kChannels, part_bytes);
      }
    });
  }
  void read_image(std::uint8_t** rows) {
    run([&] { png_read_image(png_, rows); });
  }

 private:
  template <class Call>
  void run(const Call& call) {
    if (!guard_.completes(call)) throw damaged(name_, guard_.message());
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
  const auto row_bytes = static_cast<std::size_t>(header.size.width * kChannels);
  std::vector<std::uint8_t> decoded(row_bytes * static_cast<std::size_t>(header.size.height));
  std::vector<std::uint8_t*> rows;
  for (std::size_t at = 0; at < decoded.size(); at += row_bytes) rows.push_back(decoded.data() + at);
  png.read_image(rows.data());
  copy_rows(rows[static_cast<std::size_t>(part.top)] + part.left * kChannels, static_cast<std::int64_t>(row_bytes),
            part.height, part.width, pixels);
}

PngChunk require_chunk(std::span<const std::byte>& left, const std::string& name) {
  const auto chunk = take_png_chunk(left);
  if (!chunk) throw truncated(name);
  return *chunk;
}

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

std::uint32_t big_endian(std::span<const std::byte> bytes) {
  std::uint32_t value = 0;
  for (const std::byte byte : bytes.first(4)) value = value << 8 | std::to_integer<std::uint32_t>(byte);
  return value;
}

std::optional<PngChunk> take_png_chunk(std::span<const std::byte>& left) {
  if (left.size() < kBytesAroundChunk) return std::nullopt;
  const std::size_t size = big_endian(left);
  if (left.size() - kBytesAroundChunk < size) return std::nullopt;
  const PngChunk chunk{.type = {reinterpret_cast<const char*>(left.data()) + 4, 4},
                       .data = left.subspan(kBytesBeforeData, size)};
  left = left.subspan(kBytesAroundChunk + size);
  return chunk;
}

PngHeader read_png_header(std::span<const std::byte> bytes, const std::string& name) {
  std::span<const std::byte> left = bytes.subspan(kPngSignatureBytes);
  const PngChunk first = require_chunk(left, name);
  if (first.type != "IHDR" || first.data.size() != kHeaderBytes) throw damaged(name, "its first chunk is not a header");
  const PngHeader header{.size = {.height = big_endian(first.data.subspan(4)), .width = big_endian(first.data)},
                         .bits = std::to_integer<int>(first.data[8]),
                         .color = std::to_integer<int>(first.data[9]),
                         .interlaced = first.data[12] != std::byte{0}};
  check_size(name, header.size);
  if (std::popcount(static_cast<unsigned>(header.bits)) != 1 || header.bits > 16) {
    throw damaged(name, "its header says " + std::to_string(header.bits) + " bits per channel");
  }
  while (require_chunk(left, name).type != "IEND") {
  }
  return header;
}

void decode_by_libpng(std::span<const std::byte> bytes, const std::string& name, const PngHeader& header,
                      const format::Rectangle& part, std::uint8_t* pixels) {
  PngDecompression png(bytes, name);
  png.start(header);
  if (header.interlaced) {
    decode_interlaced(png, header, part, pixels);
    return;
  }
  const bool is_whole_row = part.width == header.size.width;
  std::vector<std::uint8_t> row(static_cast<std::size_t>(is_whole_row ? 0 : header.size.width * kChannels));
  png.read_part(part, is_whole_row ? nullptr : row.data(), pixels);
}

bool is_png(std::span<const std::byte> bytes) {
  return bytes.size() >= kPngSignatureBytes &&
         png_sig_cmp(reinterpret_cast<const png_byte*>(bytes.data()), 0, kPngSignatureBytes) == 0;
}

std::unique_ptr<format::ImageFile> open_png(std::span<const std::byte> bytes, const std::string& name) {
  return std::make_unique<PngFile>(bytes, name);
}

}  // namespace ddp::images
