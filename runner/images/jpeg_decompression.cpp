#include "images/jpeg_decompression.h"

#include "images/image_error.h"

namespace ddp::images {
namespace {

// libjpeg-turbo's own limit for untrusted data (TJFLAG_LIMITSCANS). Real files have about ten scans; each scan costs a
// pass over the whole image, however few bytes it has.
constexpr int kMostScans = 500;

// The coefficients of a progressive image take 6 bytes per pixel; libjpeg's row buffers take less than the rest.
constexpr long kMemory = 32 << 20;
constexpr long kMemoryOfPixel = 16;

void ignore_message(j_common_ptr) {}
void ignore_level(j_common_ptr, int) {}
void ignore_source(j_decompress_ptr) {}

}  // namespace

JpegDecompression::JpegDecompression(std::span<const std::byte> bytes, const std::string& name)
    : bytes_(bytes), name_(name) {
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

JpegDecompression::~JpegDecompression() { jpeg_destroy_decompress(&state_); }

void JpegDecompression::set_up() {
  state_.err = jpeg_std_error(&errors_);
  state_.client_data = this;
  errors_.error_exit = leave;
  errors_.output_message = ignore_message;
  errors_.emit_message = ignore_level;
  source_.next_input_byte = reinterpret_cast<const JOCTET*>(bytes_.data());
  source_.bytes_in_buffer = bytes_.size();
  source_.init_source = ignore_source;
  source_.fill_input_buffer = [](j_decompress_ptr state) -> boolean { leave_at_end(state); };
  source_.skip_input_data = skip_input;
  source_.resync_to_restart = jpeg_resync_to_restart;
  source_.term_source = ignore_source;
  progress_.progress_monitor = limit_scans;
}

template <class Call>
void JpegDecompression::run(const Call& call) {
  if (guard_.completes(call)) return;
  if (ended_) throw truncated(name_);
  throw damaged(name_, guard_.message());
}

JpegDecompression& JpegDecompression::of(j_common_ptr state) {
  return *static_cast<JpegDecompression*>(state->client_data);
}

void JpegDecompression::leave(j_common_ptr state) {
  char message[JMSG_LENGTH_MAX];
  state->err->format_message(state, message);
  of(state).guard_.leave(message);
}

void JpegDecompression::leave_at_end(j_decompress_ptr state) {
  JpegDecompression& self = of(reinterpret_cast<j_common_ptr>(state));
  self.ended_ = true;
  self.guard_.leave("");
}

void JpegDecompression::skip_input(j_decompress_ptr state, long count) {
  if (count <= 0) return;
  jpeg_source_mgr& source = *state->src;
  if (static_cast<std::size_t>(count) > source.bytes_in_buffer) leave_at_end(state);
  source.next_input_byte += count;
  source.bytes_in_buffer -= static_cast<std::size_t>(count);
}

void JpegDecompression::limit_scans(j_common_ptr state) {
  if (reinterpret_cast<j_decompress_ptr>(state)->input_scan_number > kMostScans) {
    of(state).guard_.leave("it has more scans than any real image");
  }
}

std::span<const std::byte> JpegDecompression::rest() const { return bytes_.last(source_.bytes_in_buffer); }

void JpegDecompression::start() {
  state_.out_color_space = state_.num_components == 4 ? JCS_CMYK : JCS_RGB;
  run([this] { jpeg_start_decompress(&state_); });
}

void JpegDecompression::crop(JDIMENSION& left, JDIMENSION& width) {
  run([&] { jpeg_crop_scanline(&state_, &left, &width); });
}

void JpegDecompression::skip_rows(JDIMENSION count) {
  run([&] { jpeg_skip_scanlines(&state_, count); });
}

void JpegDecompression::read_row(JSAMPLE* pixels) {
  run([&] { jpeg_read_scanlines(&state_, &pixels, 1); });
}

}  // namespace ddp::images
