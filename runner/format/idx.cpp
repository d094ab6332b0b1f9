#include "format/idx.h"

#include <algorithm>
#include <memory>

#include <ATen/ops/empty.h>
#include <zlib.h>

#include "base/error.h"
#include "format/array.h"

namespace ddp::format {
namespace fs = std::filesystem;
namespace {

constexpr unsigned char kUnsignedBytes = 8;
constexpr std::size_t kMostExtentsOfIdx = 4;
constexpr std::int64_t kLargestIdx = std::int64_t{1} << 40;
constexpr std::int64_t kMostInflation = 1032;  // deflate expands one byte to at most so many bytes
constexpr std::int64_t kPieceOfIdx = 1 << 26;
constexpr const char* kIdxRemedy = "give an IDX file like MNIST's train-images-idx3-ubyte, with or without .gz";

struct CloseGz {
  void operator()(gzFile file) const { gzclose_r(file); }
};
using GzInput = std::unique_ptr<gzFile_s, CloseGz>;

// Reads up to `size` bytes; fewer at the end of the file. Throws if the compressed data are damaged.
std::int64_t read_some(gzFile file, void* to, std::int64_t size, const std::string& name) {
  std::int64_t done = 0;
  while (done < size) {
    const auto piece = static_cast<unsigned>(std::min(size - done, kPieceOfIdx));
    const int got = gzread(file, static_cast<char*>(to) + done, piece);
    // Only the end of the gzip stream shows whether the file was cut off: gzread returns the bytes before that.
    int error = Z_OK;
    gzerror(file, &error);
    if (got < 0 || (error != Z_OK && error != Z_STREAM_END)) throw usage_error("is damaged, or cut off", name);
    if (got == 0) break;
    done += got;
  }
  return done;
}

[[noreturn]] void refuse_size(const IdxHeader& header, const std::string& there, const std::string& name) {
  throw usage_error("its header says " + std::to_string(header.bytes) + " bytes of numbers, but the file has " + there,
                    name, "it is cut off or damaged");
}

}  // namespace

IdxHeader read_idx_header(std::string_view start, const std::string& name) {
  const auto byte = [&](std::size_t i) { return static_cast<unsigned char>(start[i]); };
  if (start.size() < 4 || byte(0) != 0 || byte(1) != 0) throw usage_error("is not an IDX file", name, kIdxRemedy);
  if (byte(2) != kUnsignedBytes) throw usage_error("contains numbers that are not 8 bits wide", name, kIdxRemedy);
  const std::size_t extents = byte(3);
  if (extents < 1 || extents > kMostExtentsOfIdx) throw usage_error("is not an IDX file", name, kIdxRemedy);
  IdxHeader header{.shape = {}, .begin = static_cast<std::int64_t>(4 + 4 * extents), .bytes = 1};
  if (static_cast<std::int64_t>(start.size()) < header.begin) throw usage_error("is cut off in its header", name);
  std::int64_t most = 1;  // dimensions of 0 count as 1: strides are products of the others
  for (std::size_t i = 0; i < extents; ++i) {
    std::int64_t extent = 0;
    for (std::size_t b = 0; b < 4; ++b) extent = extent << 8 | byte(4 + 4 * i + b);
    header.shape.push_back(extent);
    if (extent > 0 && most > kLargestIdx / extent) throw usage_error("its shape is too large", name);
    most *= std::max<std::int64_t>(extent, 1);
    header.bytes *= extent;
  }
  return header;
}

at::Tensor read_idx(const fs::path& file) try {
  const std::string name = file.string();
  std::error_code none;
  // gzopen on a pipe blocks until the pipe has a writer.
  const GzInput in(fs::is_regular_file(file, none) ? gzopen(file.c_str(), "rb") : nullptr);
  if (!in) {
    const char* const why = fs::is_directory(file, none) ? "is a folder, not a file"
                            : fs::exists(file, none)     ? "cannot be read"
                                                         : "there is no such file";
    throw usage_error(why, name, "give an IDX file");
  }
  char start[kLargestIdxHeader];
  // Reads the announced dimensions separately, to stop where the header ends and the numbers begin.
  std::int64_t size = read_some(in.get(), start, 4, name);
  if (size == 4) {
    const std::size_t extents = std::min<std::size_t>(static_cast<unsigned char>(start[3]), kMostExtentsOfIdx);
    size += read_some(in.get(), start + 4, static_cast<std::int64_t>(4 * extents), name);
  }
  const IdxHeader header = read_idx_header({start, static_cast<std::size_t>(size)}, name);
  const auto on_disk = static_cast<std::int64_t>(fs::file_size(file, none));
  const bool is_packed = gzdirect(in.get()) == 0;
  if (header.bytes / (is_packed ? kMostInflation : 1) > on_disk) refuse_size(header, "less", name);
  at::Tensor numbers = at::empty(header.shape, at::kByte);
  const std::int64_t there = read_some(in.get(), numbers.mutable_data_ptr(), header.bytes, name);
  if (there < header.bytes) refuse_size(header, std::to_string(there), name);
  char more = 0;
  if (read_some(in.get(), &more, 1, name) > 0) refuse_size(header, "more", name);
  return numbers;
} catch (...) {
  throw_refusal(file.string());
}

}  // namespace ddp::format
