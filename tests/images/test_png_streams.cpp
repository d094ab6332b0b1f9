#include <algorithm>
#include <fstream>
#include <iterator>

#include <png.h>
#include <zlib.h>

#include "catch.h"
#include "image_files.h"
#include "images/files.h"
#include "words.h"

namespace ddp {
namespace {

constexpr std::size_t kSignature = 8;
constexpr std::size_t kAroundChunk = 12;

// Gray, RGB, palette, gray with alpha, RGBA.
const std::vector<int> kKinds = {0, 2, 3, 4, 6};

std::size_t channels_of(int kind) { return kind == 2 ? 3 : kind == 4 ? 2 : kind == 6 ? 4 : 1; }

// Pixels of a kind, in a file's layout: smooth in parts, so each filter has an effect.
std::string stored_pixels(const format::ImageSize& size, int kind) {
  const std::string random = noise(64, 5);
  std::string bytes;
  for (std::int64_t y = 0; y < size.height; ++y) {
    for (std::int64_t x = 0; x < size.width; ++x) {
      for (std::size_t c = 0; c < channels_of(kind); ++c) {
        const std::int64_t wave = 3 * x * static_cast<std::int64_t>(c + 1) + y * y;
        bytes += static_cast<char>(wave + random[static_cast<std::size_t>((x * 7 + y * 3) % 64)] / 16);
      }
    }
  }
  return bytes;
}

std::uint8_t color_of(std::uint8_t place, std::size_t channel) {
  return static_cast<std::uint8_t>(place * (channel + 3) + 11 * channel);
}

// The RGB values of these pixels.
std::vector<std::uint8_t> rgb_of(const std::string& stored, int kind) {
  std::vector<std::uint8_t> rgb;
  for (std::size_t i = 0; i < stored.size(); i += channels_of(kind)) {
    for (std::size_t c = 0; c < 3; ++c) {
      const auto first = static_cast<std::uint8_t>(stored[i]);
      rgb.push_back(kind == 3                ? color_of(first, c)
                    : channels_of(kind) >= 3 ? static_cast<std::uint8_t>(stored[i + c])
                                             : first);
    }
  }
  return rgb;
}

std::string chunk_of(const std::string& type, const std::string& data) {
  const std::string checked = type + data;
  const auto sum = crc32(0, reinterpret_cast<const Bytef*>(checked.data()), static_cast<uInt>(checked.size()));
  return big_endian(static_cast<std::uint32_t>(data.size())) + checked + big_endian(static_cast<std::uint32_t>(sum));
}

std::string palette_chunk(int colors) {
  std::string colors_of;
  for (int i = 0; i < colors; ++i) {
    for (std::size_t c = 0; c < 3; ++c) colors_of += static_cast<char>(color_of(static_cast<std::uint8_t>(i), c));
  }
  return chunk_of("PLTE", colors_of);
}

std::string header_chunk(const format::ImageSize& size, int kind) {
  return chunk_of("IHDR", big_endian(static_cast<std::uint32_t>(size.width)) +
                              big_endian(static_cast<std::uint32_t>(size.height)) +
                              std::string{8, static_cast<char>(kind), 0, 0, 0});
}

const std::string kPngBegin = "\x89PNG\r\n\x1a\n";

// A file written by libpng. `filters`: flags PNG_FILTER_…; `piece`: bytes per chunk of pixels.
std::string written(const format::ImageSize& size, int kind, int filters, std::size_t piece = 8192) {
  std::string file;
  png_structp png = png_create_write_struct(PNG_LIBPNG_VER_STRING, nullptr, nullptr, nullptr);
  png_infop info = png_create_info_struct(png);
  const auto append = [](png_structp to, png_bytep bytes, std::size_t count) {
    static_cast<std::string*>(png_get_io_ptr(to))->append(reinterpret_cast<const char*>(bytes), count);
  };
  png_set_write_fn(png, &file, append, nullptr);
  png_set_IHDR(png, info, static_cast<png_uint_32>(size.width), static_cast<png_uint_32>(size.height), 8, kind,
               PNG_INTERLACE_NONE, PNG_COMPRESSION_TYPE_DEFAULT, PNG_FILTER_TYPE_DEFAULT);
  png_color palette[256];
  for (int i = 0; i < 256; ++i) {
    const auto place = static_cast<std::uint8_t>(i);
    palette[i] = {color_of(place, 0), color_of(place, 1), color_of(place, 2)};
  }
  if (kind == 3) png_set_PLTE(png, info, palette, 256);
  png_set_filter(png, PNG_FILTER_TYPE_BASE, filters);
  png_set_compression_buffer_size(png, piece);
  png_write_info(png, info);
  std::string stored = stored_pixels(size, kind);
  const std::size_t row_bytes = static_cast<std::size_t>(size.width) * channels_of(kind);
  for (std::size_t at = 0; at < stored.size(); at += row_bytes) {
    png_write_row(png, reinterpret_cast<png_bytep>(stored.data() + at));
  }
  png_write_end(png, info);
  png_destroy_write_struct(&png, &info);
  return file;
}

// Rows of gray, all without a filter.
std::string gray_rows(const format::ImageSize& size) {
  std::string rows;
  const std::string stored = stored_pixels(size, 0);
  for (std::int64_t y = 0; y < size.height; ++y) {
    rows += '\0' + stored.substr(static_cast<std::size_t>(y * size.width), static_cast<std::size_t>(size.width));
  }
  return rows;
}

std::string gray_file(const format::ImageSize& size, const std::string& packed, const std::string& before = "") {
  return kPngBegin + header_chunk(size, 0) + before + chunk_of("IDAT", packed) + chunk_of("IEND", "");
}

// The peak virtual memory of the process in KiB.
long most_memory() {
  std::ifstream status("/proc/self/status");
  for (std::string line; std::getline(status, line);) {
    if (line.starts_with("VmPeak:")) return std::stol(line.substr(7));
  }
  return 0;
}

}  // namespace

TEST_CASE("a PNG of each kind and filter has its pixels, whole and in part, in one chunk and in many") {
  const std::vector<int> filters = {PNG_FILTER_NONE, PNG_FILTER_SUB,   PNG_FILTER_UP,
                                    PNG_FILTER_AVG,  PNG_FILTER_PAETH, PNG_ALL_FILTERS};
  const std::vector<format::ImageSize> sizes = {{.height = 1, .width = 1},  {.height = 1, .width = 40},
                                                {.height = 40, .width = 1}, {.height = 32, .width = 32},
                                                {.height = 7, .width = 5},  {.height = 90, .width = 211}};
  for (const format::ImageSize& size : sizes) {
    for (const int kind : kKinds) {
      const Picture expected{.size = size, .pixels = rgb_of(stored_pixels(size, kind), kind)};
      for (const int filter : filters) {
        INFO(size.height << "x" << size.width << ", kind " << kind << ", filter " << filter);
        for (const std::size_t piece : {std::size_t{8192}, std::size_t{13}}) {
          const std::string file = written(size, kind, filter, piece);
          CHECK(decode(file).pixels == expected.pixels);
          const format::Rectangle part{.top = size.height / 3,
                                       .left = size.width / 4,
                                       .height = size.height - size.height / 3,
                                       .width = (size.width + 1) / 2};
          CHECK(decode_part(file, part) == cut_out(expected, part));
          const format::Rectangle corner{.top = 0, .left = 0, .height = 1, .width = 1};
          CHECK(decode_part(file, corner) == cut_out(expected, corner));
        }
      }
    }
  }
}

TEST_CASE("a damaged byte in a header, a palette or pixels is detected") {
  for (const int kind : {3, 6}) {
    const std::string file = written({.height = 9, .width = 11}, kind, PNG_ALL_FILTERS);
    const std::size_t end = file.find("IEND") - 4;
    for (std::size_t i = kSignature; i < end; ++i) {
      INFO("kind " << kind << ", byte " << i << " of " << file.size());
      std::string damaged = file;
      damaged[i] = static_cast<char>(damaged[i] ^ 0x40);
      CHECK(refusal_of(damaged) != "");
    }
  }
}

TEST_CASE("a PNG with an unknown filter or too few rows is refused") {
  const format::ImageSize size{.height = 4, .width = 6};
  std::string rows = gray_rows(size);
  REQUIRE(refusal_of(gray_file(size, packed_bytes(rows, 6, MAX_WBITS))) == "");
  CHECK(refusal_of(gray_file(size, packed_bytes(rows.substr(0, rows.size() - 1), 6, MAX_WBITS))) != "");
  rows[7] = 5;
  CHECK(refusal_of(gray_file(size, packed_bytes(rows, 6, MAX_WBITS))) != "");
  CHECK(refusal_of(gray_file(size, "")) != "");
}

TEST_CASE("a palette that is missing, duplicate or not a list of colors is refused") {
  const format::ImageSize size{.height = 2, .width = 2};
  const std::string pixels = chunk_of("IDAT", packed_bytes(std::string("\0\1\2\0\3\4", 6), 6, MAX_WBITS));
  const auto file = [&](const std::string& palette) {
    return kPngBegin + header_chunk(size, 3) + palette + pixels + chunk_of("IEND", "");
  };
  REQUIRE(decode(file(palette_chunk(5))).pixels == rgb_of("\1\2\3\4", 3));
  CHECK(refusal_of(file("")) != "");
  CHECK(refusal_of(file(palette_chunk(5) + palette_chunk(5))) != "");
  CHECK(refusal_of(file(chunk_of("PLTE", "four"))) != "");
  // As in libpng, an index beyond the palette's end is black.
  std::vector<std::uint8_t> expected = rgb_of("\1\2\3\4", 3);
  std::fill(expected.end() - 3, expected.end(), std::uint8_t{0});
  CHECK(decode(file(palette_chunk(4))).pixels == expected);
}

TEST_CASE("chunks that do not describe pixels are skipped with any content") {
  const format::ImageSize size{.height = 4, .width = 6};
  const std::string packed = packed_bytes(gray_rows(size), 6, MAX_WBITS);
  const std::vector<std::uint8_t> expected = rgb_of(stored_pixels(size, 0), 0);
  std::string damaged = chunk_of("tEXt", "a comment");
  damaged.back() = static_cast<char>(damaged.back() + 1);
  for (const std::string& before : {chunk_of("tEXt", "a comment"), chunk_of("gAMA", "no gamma"), chunk_of("zzZz", ""),
                                    chunk_of("tRNS", "\0\5"), damaged}) {
    CHECK(decode(gray_file(size, packed, before)).pixels == expected);
  }
  CHECK(decode(gray_file(size, packed + "and more")).pixels == expected);
  CHECK(decode(gray_file(size, packed_bytes(gray_rows(size) + "and more", 6, MAX_WBITS))).pixels == expected);
  CHECK(refusal_of(gray_file(size, packed, chunk_of("ZZZZ", ""))) != "");
  CHECK(refusal_of(gray_file(size, packed, chunk_of("z\1Zz", ""))) != "");
}

TEST_CASE("a stream that refers back beyond its window is refused, as in zlib") {
  const format::ImageSize size{.height = 20, .width = 2000};
  std::string rows;
  for (std::int64_t y = 0; y < size.height; ++y) rows += '\0' + noise(2000, static_cast<std::uint32_t>(y % 5));
  std::string packed = packed_bytes(rows, 6, MAX_WBITS);
  REQUIRE(refusal_of(gray_file(size, packed)) == "");
  packed[0] = 0x08;  // a window of 256 bytes
  packed[1] = static_cast<char>(31 - 0x0800 % 31);
  CHECK(refusal_of(gray_file(size, packed)) != "");
}

TEST_CASE("a small PNG that claims many pixels takes no memory for them") {
  const format::ImageSize size{.height = 13000, .width = 13000};
  const std::string file = gray_file(size, packed_bytes(std::string(40000, '\0'), 6, MAX_WBITS));
  const long before = most_memory();
  REQUIRE(before > 0);
  const format::Rectangle last{.top = size.height - 1, .left = 0, .height = 1, .width = 5};
  CHECK_THROWS(decode_part(file, last));
  CHECK(most_memory() - before < 40'000);
}

}  // namespace ddp
