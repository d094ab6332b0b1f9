#pragma once

#include <cstddef>
#include <cstdio>
#include <span>
#include <string>

#include <jpeglib.h>

#include "images/guard.h"

namespace ddp::images {

// libjpeg's state for one image whose bytes lie in memory. Warnings, of data that can be decoded all the same, are left
// unheard, as Pillow does. Each call throws ddp::Error (usage) where the data end too early or libjpeg gives up.
class JpegDecompression {
 public:
  // Reads the header. Both arguments outlive it.
  JpegDecompression(std::span<const std::byte> bytes, const std::string& name);
  ~JpegDecompression();
  JpegDecompression(const JpegDecompression&) = delete;
  JpegDecompression& operator=(const JpegDecompression&) = delete;

  const jpeg_decompress_struct& state() const { return state_; }
  // The bytes after the header: the coded pixels.
  std::span<const std::byte> rest() const;

  // Begins to decode, as RGB.
  void start();
  // Chooses columns, from `left` on, before the first row: widened to what libjpeg decodes together. `left` and `width`
  // become what the rows then hold.
  void crop(JDIMENSION& left, JDIMENSION& width);
  void skip_rows(JDIMENSION count);
  void read_row(JSAMPLE* pixels);

 private:
  template <class Call>
  void run(const Call& call);
  void set_up();

  static JpegDecompression& of(j_common_ptr state);
  [[noreturn]] static void leave(j_common_ptr state);
  [[noreturn]] static void leave_at_end(j_decompress_ptr state);
  static void skip_input(j_decompress_ptr state, long count);
  static void limit_scans(j_common_ptr state);

  const std::span<const std::byte> bytes_;
  const std::string& name_;
  bool ended_ = false;  // libjpeg asked for more than there is
  Guard guard_;
  jpeg_decompress_struct state_ = {};
  jpeg_error_mgr errors_ = {};
  jpeg_source_mgr source_ = {};
  jpeg_progress_mgr progress_ = {};
};

}  // namespace ddp::images
