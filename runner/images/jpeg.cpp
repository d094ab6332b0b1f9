#include "images/jpeg.h"

#include <algorithm>
#include <cstring>
#include <vector>

#include "images/image_error.h"
#include "images/jpeg_decompression.h"

namespace ddp::images {
namespace {

constexpr std::int64_t kChannelsOfJpeg = 3;
constexpr int kInks = 4;
constexpr std::int64_t kRowsAtOnce = 16;  // libjpeg usually transforms as many rows at once
constexpr std::byte kMarker{0xff};
constexpr std::byte kEndOfImage{0xd9};

// Coded pixels never contain this pair of bytes. The search starts at the end: in a complete file it ends at once.
bool has_end_marker(std::span<const std::byte> coded) {
  while (coded.size() >= 2) {
    if (coded[coded.size() - 2] == kMarker && coded.back() == kEndOfImage) return true;
    coded = coded.first(coded.size() - 1);
  }
  return false;
}

void refuse_kinds(const jpeg_decompress_struct& state, const std::string& name) {
  if (state.num_components != 1 && state.num_components != 3 && state.num_components != kInks) {
    throw unsupported(name, "a JPEG of " + std::to_string(state.num_components) + " channels", "save it as RGB");
  }
}

// Returns a * b / 255, rounded to the nearest number.
std::uint8_t share_of(unsigned a, unsigned b) {
  const unsigned product = a * b + 128;
  return static_cast<std::uint8_t>((product + (product >> 8)) >> 8);
}

// Pillow takes every JPEG of four channels as Adobe writes them, with the inks inverted (JpegImagePlugin.py), and
// subtracts each ink from what black leaves of the light (cmyk2rgb of its Convert.c).
void inks_to_rgb(const std::vector<std::uint8_t>& inks, std::uint8_t* to) {
  for (std::size_t i = 0; i < inks.size(); i += kInks) {
    const std::uint8_t light = inks[i + 3];
    for (std::size_t ink = 0; ink < 3; ++ink) {
      *to++ = static_cast<std::uint8_t>(light - share_of(255U - inks[i + ink], light));
    }
  }
}

// If the last scans of a progressive file are missing, libjpeg guesses coefficients from neighbouring blocks: blocks at
// the edge of a part would differ.
bool guesses_from_neighbours(const jpeg_decompress_struct& state) {
  if (!state.progressive_mode || state.coef_bits == nullptr) return false;
  for (int component = 0; component < state.num_components; ++component) {
    const int* accuracy = state.coef_bits[component];
    if (std::any_of(accuracy, accuracy + DCTSIZE2, [](int bits) { return bits != 0; })) return true;
  }
  return false;
}

// The columns of an image to decode: the first one and their number.
struct Columns {
  JDIMENSION left = 0;
  JDIMENSION width = 0;
};

// libjpeg decodes whole blocks and upsamples colours differently in the first and last decoded columns, as at the edges
// of an image. Two more samples of the coarsest channel on either side keep these columns out of the part.
Columns choose_columns(JpegDecompression& jpeg, const format::Rectangle& part) {
  const jpeg_decompress_struct& state = jpeg.state();
  const std::int64_t width = state.output_width;
  const std::int64_t margin = std::int64_t{2} * state.max_h_samp_factor;
  const std::int64_t left = std::max<std::int64_t>(part.left - margin, 0);
  const std::int64_t right = std::min(part.left + part.width + margin, width);
  Columns columns{.left = static_cast<JDIMENSION>(left), .width = static_cast<JDIMENSION>(right - left)};
  if (columns.width == width || guesses_from_neighbours(state)) return {.left = 0, .width = state.output_width};
  jpeg.crop(columns.left, columns.width);
  return columns;
}

class JpegFile : public format::ImageFile {
 public:
  JpegFile(std::span<const std::byte> bytes, const std::string& name) : bytes_(bytes), name_(name) {
    const JpegDecompression jpeg(bytes_, name_);
    refuse_kinds(jpeg.state(), name_);
    if (!has_end_marker(jpeg.rest())) throw truncated(name_);
    size_ = {.height = jpeg.state().image_height, .width = jpeg.state().image_width};
  }

  format::ImageSize size() const override { return size_; }

  void decode(const format::Rectangle& part, std::uint8_t* pixels) const override {
    const std::size_t row_bytes = static_cast<std::size_t>(part.width * kChannelsOfJpeg);
    decode_rows(part, [&](const std::uint8_t* from, std::int64_t rows, std::int64_t stride) {
      for (; rows > 0; --rows, from += stride, pixels += row_bytes) std::memcpy(pixels, from, row_bytes);
    });
  }

  void decode_rows(const format::Rectangle& part, const UseRows& use) const override {
    JpegDecompression jpeg(bytes_, name_);
    jpeg.start();
    const Columns columns = choose_columns(jpeg, part);
    if (part.top > 0) jpeg.skip_rows(static_cast<JDIMENSION>(part.top));
    const std::int64_t row_bytes = columns.width * kChannelsOfJpeg;
    std::vector<std::uint8_t> decoded(static_cast<std::size_t>(kRowsAtOnce * row_bytes));
    std::vector<std::uint8_t> inks(jpeg.state().output_components == kInks ? columns.width * std::size_t{kInks} : 0);
    const std::uint8_t* const wanted = decoded.data() + (part.left - columns.left) * kChannelsOfJpeg;
    for (std::int64_t done = 0; done < part.height; done += kRowsAtOnce) {
      const std::int64_t rows = std::min(kRowsAtOnce, part.height - done);
      for (std::int64_t row = 0; row < rows; ++row) {
        std::uint8_t* const to = decoded.data() + row * row_bytes;
        jpeg.read_row(inks.empty() ? to : inks.data());
        inks_to_rgb(inks, to);
      }
      use(wanted, rows, row_bytes);
    }
  }

 private:
  const std::span<const std::byte> bytes_;
  const std::string name_;
  format::ImageSize size_ = {};
};

}  // namespace

bool is_jpeg(std::span<const std::byte> bytes) {
  return bytes.size() >= 3 && bytes[0] == kMarker && bytes[1] == std::byte{0xd8} && bytes[2] == kMarker;
}

std::unique_ptr<format::ImageFile> open_jpeg(std::span<const std::byte> bytes, const std::string& name) {
  return std::make_unique<JpegFile>(bytes, name);
}

}  // namespace ddp::images
