#include "images/files.h"

#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include <jpeglib.h>
#include <png.h>
#include <webp/encode.h>

#include "errors.h"

namespace ddp {
namespace {

constexpr std::int64_t kRgb = 3;

std::vector<std::uint8_t> row_of(const Picture& picture, std::int64_t row, const JpegOptions& options) {
  const std::uint8_t* from = picture.pixels.data() + row * picture.size.width * kRgb;
  std::vector<std::uint8_t> made;
  for (std::int64_t x = 0; x < picture.size.width; ++x, from += kRgb) {
    made.push_back(from[0]);
    if (options.gray) continue;
    made.insert(made.end(), {from[1], from[2]});
    if (options.cmyk) made.push_back(100);
  }
  return made;
}

void append(png_structp png, png_bytep bytes, std::size_t count) {
  static_cast<std::string*>(png_get_io_ptr(png))->append(reinterpret_cast<const char*>(bytes), count);
}

std::span<const std::byte> bytes_of(const std::string& file) { return std::as_bytes(std::span(file)); }

}  // namespace

Picture make_picture(std::int64_t height, std::int64_t width) {
  Picture picture{.size = {.height = height, .width = width}, .pixels = {}};
  for (std::int64_t y = 0; y < height; ++y) {
    for (std::int64_t x = 0; x < width; ++x) {
      const double wave = std::sin(0.3 * static_cast<double>(x)) * std::cos(0.2 * static_cast<double>(y));
      const bool edge = (x / 5 + y / 7) % 2 == 0;
      picture.pixels.push_back(static_cast<std::uint8_t>(128 + 120 * wave));
      picture.pixels.push_back(edge ? 220 : 30);
      picture.pixels.push_back(static_cast<std::uint8_t>((x * 7 + y * 13) % 256));
    }
  }
  return picture;
}

std::string jpeg_of(const Picture& picture, const JpegOptions& options) {
  jpeg_compress_struct state{};
  jpeg_error_mgr errors{};
  state.err = jpeg_std_error(&errors);
  jpeg_create_compress(&state);
  unsigned char* memory = nullptr;
  unsigned long bytes = 0;
  jpeg_mem_dest(&state, &memory, &bytes);
  state.image_width = static_cast<JDIMENSION>(picture.size.width);
  state.image_height = static_cast<JDIMENSION>(picture.size.height);
  state.input_components = options.gray ? 1 : options.cmyk ? 4 : 3;
  state.in_color_space = options.gray ? JCS_GRAYSCALE : options.cmyk ? JCS_CMYK : JCS_RGB;
  jpeg_set_defaults(&state);
  jpeg_set_quality(&state, options.quality, TRUE);
  for (int i = 0; i < state.num_components && i < 3; ++i) {
    state.comp_info[i].h_samp_factor = options.sampling[static_cast<std::size_t>(i)][0];
    state.comp_info[i].v_samp_factor = options.sampling[static_cast<std::size_t>(i)][1];
  }
  state.restart_interval = static_cast<unsigned>(options.restart_interval);
  if (options.progressive) jpeg_simple_progression(&state);
  jpeg_start_compress(&state, TRUE);
  for (std::int64_t row = 0; row < picture.size.height; ++row) {
    std::vector<std::uint8_t> samples = row_of(picture, row, options);
    JSAMPROW pointer = samples.data();
    jpeg_write_scanlines(&state, &pointer, 1);
  }
  jpeg_finish_compress(&state);
  std::string file(reinterpret_cast<const char*>(memory), bytes);
  jpeg_destroy_compress(&state);
  std::free(memory);
  return file;
}

std::string png_of(const Picture& picture, bool interlaced, int bits) {
  std::string file;
  png_structp png = png_create_write_struct(PNG_LIBPNG_VER_STRING, nullptr, nullptr, nullptr);
  png_infop info = png_create_info_struct(png);
  png_set_write_fn(png, &file, append, nullptr);
  png_set_IHDR(png, info, static_cast<png_uint_32>(picture.size.width), static_cast<png_uint_32>(picture.size.height),
               bits, PNG_COLOR_TYPE_RGB, interlaced ? PNG_INTERLACE_ADAM7 : PNG_INTERLACE_NONE,
               PNG_COMPRESSION_TYPE_DEFAULT, PNG_FILTER_TYPE_DEFAULT);
  png_write_info(png, info);
  const auto row_bytes = static_cast<std::size_t>(picture.size.width * kRgb);
  std::vector<std::vector<std::uint8_t>> rows;
  std::vector<std::uint8_t*> pointers;
  for (std::size_t row = 0; row < static_cast<std::size_t>(picture.size.height); ++row) {
    rows.emplace_back(row_bytes * static_cast<std::size_t>(bits / 8));
    std::memcpy(rows.back().data(), picture.pixels.data() + row * row_bytes, row_bytes);
  }
  for (std::vector<std::uint8_t>& row : rows) pointers.push_back(row.data());
  png_write_image(png, pointers.data());
  png_write_end(png, info);
  png_destroy_write_struct(&png, &info);
  return file;
}

std::string webp_of(const Picture& picture, bool lossless) {
  const int width = static_cast<int>(picture.size.width);
  const int height = static_cast<int>(picture.size.height);
  std::uint8_t* memory = nullptr;
  const std::size_t bytes = lossless ? WebPEncodeLosslessRGB(picture.pixels.data(), width, height, width * 3, &memory)
                                     : WebPEncodeRGB(picture.pixels.data(), width, height, width * 3, 70, &memory);
  std::string file(reinterpret_cast<const char*>(memory), bytes);
  WebPFree(memory);
  return file;
}

std::vector<std::uint8_t> cut_out(const Picture& picture, const format::Rectangle& part) {
  std::vector<std::uint8_t> cut;
  for (std::int64_t row = part.top; row < part.top + part.height; ++row) {
    const auto from = picture.pixels.begin() + (row * picture.size.width + part.left) * kRgb;
    cut.insert(cut.end(), from, from + part.width * kRgb);
  }
  return cut;
}

Picture decode(const std::string& file) {
  const auto image = format::open_image(bytes_of(file), "image");
  const format::ImageSize size = image->size();
  Picture picture{.size = size,
                  .pixels = std::vector<std::uint8_t>(static_cast<std::size_t>(size.height * size.width * kRgb))};
  image->decode({.height = size.height, .width = size.width}, picture.pixels.data());
  return picture;
}

std::vector<std::uint8_t> decode_part(const std::string& file, const format::Rectangle& part) {
  std::vector<std::uint8_t> pixels(static_cast<std::size_t>(part.height * part.width * kRgb));
  format::open_image(bytes_of(file), "image")->decode(part, pixels.data());
  return pixels;
}

std::string refusal_of(const std::string& file) {
  return error_of([&] { decode(file); });
}

std::string refusal_to_open(const std::string& file) {
  return error_of([&] { format::open_image(bytes_of(file), "image"); });
}

}  // namespace ddp
