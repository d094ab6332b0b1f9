#pragma once

#include <array>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>

#include "base/file_descriptor.h"
#include "config/option/value.h"
#include "record/file/input_file.h"
#include "record/metrics/metric_values.h"

namespace ddp::tensorboard {

// Appends a record of an event file (TFRecord): its length (8 bytes, little-endian), the length's checksum, the bytes,
// the bytes' checksum. The checksums are CRC-32C, rotated and offset.
void append_record(std::string& file, std::string_view record);

// CRC-32C (Castagnoli), from RFC 3720.
std::uint32_t crc32c(std::string_view bytes);

// The records of a file, one by one, up to its end or the first damaged or incomplete record.
class RecordReader {
 public:
  // Throws ddp::Error (training) if the file cannot be opened.
  explicit RecordReader(const std::filesystem::path& file) : file_(file) {}

  // Returns the next record, valid until the next call. Throws ddp::Error (training) if the file cannot be read.
  std::optional<std::string_view> next();

 private:
  // Returns the next `size` bytes, or nothing if the file has fewer. Invalidates earlier results.
  std::optional<std::string_view> take(std::size_t size);

  record::InputFile file_;
  std::uint64_t read_ = 0;  // bytes read from the file
  std::string buffer_;
  std::size_t used_ = 0;  // bytes taken from the buffer
};

// One step, one epoch's end, or one validation inside an epoch, before it is written.
struct Point {
  enum class Kind { step, epoch, validation };
  Kind kind = Kind::step;
  double wall_time = 0;  // seconds since 1970
  std::int64_t step = 0;
  std::array<double, 3> values = {};  // for a step: loss, lr, samples_per_second; for an epoch: its number
  record::MetricValues metrics = {};  // for a step: the scalars that come with its loss
};

// Each function appends one or more records to `file`, the text of an event file.

// Appends the beginning of an event file. It makes a reader forget other files of the same run.
void append_beginning(std::string& file, double wall_time);
void append_point(std::string& file, const Point& point);
// `parameters`: as hyper_parameters() returns them.
void append_session_start(std::string& file, double wall_time, const config::Value& parameters);
void append_session_end(std::string& file, double wall_time, bool success);

// Is the record a point that a run which resumes after `step`, in `epoch`, has already done?
bool belongs(std::string_view record, std::int64_t step, std::int64_t epoch);

// Begins the event file of a folder with `beginning` and the points of the folder's other event files up to `step` and
// before `epoch`; then empties these files. Returns the file, open for appending. Throws ddp::Error and leaves the
// folder's event files unchanged.
FileDescriptor begin_event_file(const std::filesystem::path& folder, std::string beginning, std::int64_t step,
                                std::int64_t epoch);

}  // namespace ddp::tensorboard
