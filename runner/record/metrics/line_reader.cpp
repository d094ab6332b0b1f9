#include "record/metrics/line_reader.h"

#include <algorithm>

namespace ddp::record {
namespace {

constexpr std::uint64_t kBlock = 256 << 10;

}  // namespace

std::optional<std::string_view> LineReader::next() {
  for (;;) {
    const std::size_t end = block_.find('\n', begin_);
    if (end != std::string::npos) {
      const std::string_view line(block_.data() + begin_, end - begin_);
      begin_ = end + 1;
      if (!std::exchange(inside_long_line_, false) && line.size() <= longest_) return line;
      ++passed_over_;
    } else if (!fill()) {
      return {};
    }
  }
}

// Reads the next block behind the rest of this one. Returns false at the end of the file.
bool LineReader::fill() {
  block_.erase(0, begin_);
  begin_ = 0;
  if (block_.size() > longest_) {
    inside_long_line_ = true;
    block_.clear();
  }
  const std::uint64_t more = std::min(kBlock, in_.size() - offset_);
  if (more == 0) return false;
  const std::size_t before = block_.size();
  block_.resize(before + more);
  in_.read(offset_, block_.data() + before, more);
  offset_ += more;
  return true;
}

}  // namespace ddp::record
