#include <algorithm>

#include "config/text/toml_reader.h"

namespace ddp::config {
namespace {

constexpr int kBrackets = 32;
constexpr int kKeyParts = 16;

// Scans TOML text outside of strings and comments, and counts brackets and the dots of each key.
class NestingScan {
 public:
  explicit NestingScan(std::string_view text) : text_(text) {}

  // Returns what is nested too deep at position(), "" if nothing is.
  std::string run() {
    while (at_ < text_.size()) {
      const char c = text_[at_];
      if (c == '"' || c == '\'') {
        skip_string(c);
        continue;
      }
      if (c == '#') {
        at_ = std::min(text_.find('\n', at_), text_.size());
        continue;
      }
      count(c);
      if (brackets_ > kBrackets) return "brackets are nested deeper than " + std::to_string(kBrackets);
      if (dots_ >= kKeyParts) return "the key has more than " + std::to_string(kKeyParts) + " parts";
      ++at_;
    }
    return "";
  }

  std::size_t position() const { return at_; }

 private:
  void count(char c) {
    if (c == '[' || c == '{') ++brackets_;
    if ((c == ']' || c == '}') && brackets_ > 0) --brackets_;
    if (c == '.') ++dots_;
    if (c == '\n' || c == ',' || c == '=' || c == '[' || c == '{') dots_ = 0;
  }

  void skip_string(char quote) {
    const std::string triple(3, quote);
    const bool multiline = text_.substr(at_, 3) == triple;
    at_ += multiline ? 3 : 1;
    while (at_ < text_.size()) {
      if (text_[at_] == '\\' && quote == '"') {
        at_ += 2;
      } else if (multiline && text_.substr(at_, 3) == triple) {
        at_ += 3;
        while (at_ < text_.size() && text_[at_] == quote) ++at_;  // up to two quotes may precede the end
        return;
      } else if (!multiline && text_[at_] == '\n') {
        return;  // not closed: not TOML
      } else if (!multiline && text_[at_] == quote) {
        ++at_;
        return;
      } else {
        ++at_;
      }
    }
  }

  std::string_view text_;
  std::size_t at_ = 0;
  int brackets_ = 0;
  int dots_ = 0;
};

}  // namespace

std::optional<TooDeep> find_too_deep(std::string_view text) {
  NestingScan scan(text);
  TooDeep found{.what = scan.run()};
  if (found.what.empty()) return std::nullopt;
  for (char c : text.substr(0, scan.position())) {
    const bool continues_character = (static_cast<unsigned char>(c) & 0xC0) == 0x80;
    if (c == '\n') {
      ++found.line;
      found.column = 1;
    } else if (!continues_character) {
      ++found.column;
    }
  }
  return found;
}

}  // namespace ddp::config
