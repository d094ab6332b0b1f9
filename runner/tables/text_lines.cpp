#include "tables/text_lines.h"

#include <algorithm>
#include <cstring>

#include "base/error.h"

namespace ddp::tables {
namespace {

constexpr std::int64_t kLinePiece = 1 << 20;
constexpr std::size_t kLargestLine = 64 << 20;

bool holds_something(const std::string& line) { return line.find_first_not_of(" \t\r") != std::string::npos; }

}  // namespace

TextLines::TextLines(const std::filesystem::path& file, const format::TableOptions& options, const Span& span)
    : file_(file), stream_(open_stream(file, options, span)) {}

bool TextLines::next(std::string& line) {
  line.clear();
  for (bool in_line = false;;) {
    if ((piece_ == nullptr || at_ == piece_->size()) && !refill()) return holds_something(line);
    const auto* begin = reinterpret_cast<const char*>(piece_->data()) + at_;
    const auto size = static_cast<std::size_t>(piece_->size() - at_);
    const auto* end = static_cast<const char*>(std::memchr(begin, '\n', size));
    const std::size_t taken = end == nullptr ? size : static_cast<std::size_t>(end - begin) + 1;
    if (!in_line) {
      ++number_;
      begin_ = before_piece_ + at_;
    }
    in_line = end == nullptr;
    line.append(begin, end == nullptr ? size : taken - 1);
    at_ += static_cast<std::int64_t>(taken);
    if (line.size() > kLargestLine) {
      throw usage_error("a line is larger than 64 MB", file_.string() + ":" + std::to_string(number_));
    }
    if (end != nullptr && holds_something(line)) return true;
    if (end != nullptr) line.clear();
  }
}

bool TextLines::refill() {
  const bool is_first = piece_ == nullptr;
  before_piece_ += is_first ? 0 : piece_->size();
  piece_ = require(stream_->Read(kLinePiece), file_);
  at_ = is_first && std::string_view(*piece_).starts_with(kByteOrderMark) ? std::ssize(kByteOrderMark) : 0;
  return piece_->size() > at_;
}

std::string standard_json(std::string_view line) {
  std::string json;
  bool in_text = false;
  for (std::size_t at = 0; at < line.size(); ++at) {
    const std::string_view rest = line.substr(at);
    const bool is_nan = !in_text && rest.starts_with(kNan);
    if (is_nan || (!in_text && rest.starts_with(kInfinity))) {
      if (!is_nan && json.ends_with('-')) json.pop_back();
      json += "null";
      at += (is_nan ? kNan : kInfinity).size() - 1;
      continue;
    }
    json += rest.front();
    if (in_text && rest.front() == '\\' && rest.size() > 1) json += line[++at];
    in_text ^= rest.front() == '"';
  }
  return json;
}

}  // namespace ddp::tables
