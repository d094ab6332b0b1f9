#include <algorithm>
#include <cstdio>
#include <vector>

#include <jpeglib.h>

#include "images/decoders.h"

namespace ddp::images {
namespace {

// libjpeg-turbo's own limit for untrusted data (TJFLAG_LIMITSCANS). Real files have about ten scans; each scan costs a
// pass over the whole image, however few bytes it has.
constexpr int kMostScans = 500;

// The coefficients of a progressive image take 6 bytes per pixel; libjpeg's row buffers take less than the rest.
constexpr long kMemory = 32 << 20;
constexpr long kMemoryOfPixel = 16;

// libjpeg's state for one image in memory. Warnings about data that can still be decoded are ignored, as in Pillow.
// Each call throws ddp::Error (usage) if the data end too early or libjpeg fails.
class JpegDecompression {
 public:
  // Reads the header. Both arguments must outlive the object.
  JpegDecompression(std::span<const std::byte> bytes, const std::string& name) : bytes_(bytes), name_(name) {
    set_up();
    try {
      run([this] { jpeg_create_decompress(&state_); });
      state_.src = &source_;
      state_.progress = &progress_;
      run([this] { jpeg_read_header(&state_, TRUE); });
      check_size(name_, {.height = state_.image_height, .width = state_.image_width});
    } catch (...) {
      jpeg_destroy_decompress(&state_);
      throw;
    }
    state_.mem->max_memory_to_use =
        kMemory + kMemoryOfPixel * static_cast<long>(state_.image_width) * state_.image_height;
  }
  ~JpegDecompression() { jpeg_destroy_decompress(&state_); }
  JpegDecompression(const JpegDecompression&) = delete;
  JpegDecompression& operator=(const JpegDecompression&) = delete;

  const jpeg_decompress_struct& state() const { return state_; }
  // The bytes after the header: the coded pixels.
  std::span<const std::byte> rest() const { return bytes_.last(source_.bytes_in_buffer); }

  // Starts decoding to RGB, or to four inks if the file has four channels.
  void start() {
    state_.out_color_space = state_.num_components == 4 ? JCS_CMYK : JCS_RGB;
    run([this] { jpeg_start_decompress(&state_); });
  }
  // Chooses the columns from `left` on, before the first row is read. Widens them to the blocks that libjpeg decodes;
  // `left` and `width` return the actual columns of the rows.
  void crop(JDIMENSION& left, JDIMENSION& width) {
    run([&] { jpeg_crop_scanline(&state_, &left, &width); });
  }
  void skip_rows(JDIMENSION count) {
    run([&] { jpeg_skip_scanlines(&state_, count); });
  }
  void read_row(JSAMPLE* pixels) {
    run([&] { jpeg_read_scanlines(&state_, &pixels, 1); });
  }

 private:
  template <class Call>
  void run(const Call& call) {
    if (guard_.completes(call)) return;
    if (ended_) throw truncated(name_);
    throw damaged(name_, guard_.message());
  }

  void set_up() {
    state_.err = jpeg_std_error(&errors_);
    state_.client_data = this;
    errors_.error_exit = leave;
    errors_.output_message = [](j_common_ptr) {};
    errors_.emit_message = [](j_common_ptr, int) {};
    source_.next_input_byte = reinterpret_cast<const JOCTET*>(bytes_.data());
    source_.bytes_in_buffer = bytes_.size();
    source_.init_source = [](j_decompress_ptr) {};
    source_.fill_input_buffer = [](j_decompress_ptr state) -> boolean { leave_at_end(state); };
    source_.skip_input_data = skip_input;
    source_.resync_to_restart = jpeg_resync_to_restart;
    source_.term_source = [](j_decompress_ptr) {};
    progress_.progress_monitor = limit_scans;
  }

  static JpegDecompression& of(j_common_ptr state) { return *static_cast<JpegDecompression*>(state->client_data); }
  [[noreturn]] static void leave(j_common_ptr state) {
    char message[JMSG_LENGTH_MAX];
    state->err->format_message(state, message);
    of(state).guard_.leave(message);
  }
  [[noreturn]] static void leave_at_end(j_decompress_ptr state) {
    JpegDecompression& self = of(reinterpret_cast<j_common_ptr>(state));
    self.ended_ = true;
    self.guard_.leave("");
  }
  static void skip_input(j_decompress_ptr state, long count) {
    if (count <= 0) return;
    jpeg_source_mgr& source = *state->src;
    if (static_cast<std::size_t>(count) > source.bytes_in_buffer) leave_at_end(state);
    source.next_input_byte += count;
    source.bytes_in_buffer -= static_cast<std::size_t>(count);
  }
  static void limit_scans(j_common_ptr state) {
    if (reinterpret_cast<j_decompress_ptr>(state)->input_scan_number > kMostScans) {
      of(state).guard_.leave("it has more scans than any real image");
    }
  }

  const std::span<const std::byte> bytes_;
  const std::string& name_;
  bool ended_ = false;  // libjpeg tried to read beyond the data
  Guard guard_;
  jpeg_decompress_struct state_ = {};
  jpeg_error_mgr errors_ = {};
  jpeg_source_mgr source_ = {};
  jpeg_progress_mgr progress_ = {};
};

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
    decode_rows(part, [&](const std::uint8_t* from, std::int64_t rows, std::int64_t stride) {
      pixels = copy_rows(from, stride, rows, part.width, pixels);
    });
  }

  void decode_rows(const format::Rectangle& part, const UseRows& use) const override {
    JpegDecompression jpeg(bytes_, name_);
    jpeg.start();
    const Columns columns = choose_columns(jpeg, part);
    if (part.top > 0) jpeg.skip_rows(static_cast<JDIMENSION>(part.top));
    const std::int64_t row_bytes = columns.width * kChannels;
    std::vector<std::uint8_t> decoded(static_cast<std::size_t>(kRowsAtOnce * row_bytes));
    std::vector<std::uint8_t> inks(jpeg.state().output_components == kInks ? columns.width * std::size_t{kInks} : 0);
    const std::uint8_t* const wanted = decoded.data() + (part.left - columns.left) * kChannels;
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
