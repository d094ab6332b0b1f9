#pragma once

#include <cstddef>
#include <cstdio>
#include <span>
#include <string>

#include <jpeglib.h>

#include "images/guard.h"

namespace ddp::images {

// libjpeg's state for one image in memory. Warnings about data that can still be decoded are ignored, as in Pillow.
// Each call throws ddp::Error (usage) if the data end too early or libjpeg fails.
class JpegDecompression {
 public:
  // Reads the header. Both arguments must outlive the object.
  JpegDecompression(std::span<const std::byte> bytes, const std::string& name);
  ~JpegDecompression();
  JpegDecompression(const JpegDecompression&) = delete;
  JpegDecompression& operator=(const JpegDecompression&) = delete;

  const jpeg_decompress_struct& state() const { return state_; }
  // The bytes after the header: the coded pixels.
  std::span<const std::byte> rest() const;

  // Starts decoding to RGB, or to four inks if the file has four channels.
  void start();
  // Chooses the columns from `left` on, before the first row is read. Widens them to the blocks that libjpeg decodes;
  // `left` and `width` return the actual columns of the rows.
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
  bool ended_ = false;  // libjpeg tried to read beyond the data
  Guard guard_;
  jpeg_decompress_struct state_ = {};
  jpeg_error_mgr errors_ = {};
  jpeg_source_mgr source_ = {};
  jpeg_progress_mgr progress_ = {};
};

}  // namespace ddp::images
