#include <algorithm>
#include <utility>

#include "base/error.h"
#include "tokenize/tokenizer.h"
#include "tokenize/utf8.h"

namespace ddp::tokenize {
namespace {

constexpr std::int32_t kNone = -1;
constexpr std::size_t kCharactersAtOnce = 1 << 12;

struct CharOptions {
  std::string characters;
  void fields(config::Fields& f) {
    f({.name = "characters", .doc = "characters in the order of code points; default: the characters of the text"},
      characters);
  }
};

// The distinct code points of a valid text, in ascending order.
std::u32string distinct(std::string_view text) {
  std::vector<bool> seen(kLastCodePoint + 1);
  for (std::size_t place = 0; place < text.size();) seen[next_code_point(text, place)] = true;
  std::u32string points;
  for (char32_t point = 0; point <= kLastCodePoint; ++point) {
    if (seen[point]) points.push_back(point);
  }
  return points;
}

// Each character is a token: token i is the i-th of the distinct code points in ascending order, as in nanoGPT's
// data/shakespeare_char/prepare.py.
class CharTokenizer final : public Tokenizer {
 public:
  explicit CharTokenizer(std::u32string points) : points_(std::move(points)), ids_(kLastCodePoint + 1, kNone) {
    for (std::size_t i = 0; i < points_.size(); ++i) ids_[points_[i]] = static_cast<std::int32_t>(i);
  }

  std::int64_t vocab_size() const override { return static_cast<std::int64_t>(points_.size()); }

  void encode(const Text& text, const TakeIds& take) const override {
    require_utf8(text);
    std::vector<std::int32_t> ids(kCharactersAtOnce);
    for (std::size_t place = 0; place < text.bytes.size();) {
      std::size_t count = 0;
      while (count < ids.size() && place < text.bytes.size()) {
        const std::size_t begin = place;
        const char32_t point = next_code_point(text.bytes, place);
        ids[count] = ids_[point];
        if (ids[count] == kNone) refuse(point, text.where(begin));
        ++count;
      }
      take({ids.data(), count});
    }
  }

  std::string decode(std::span<const std::int64_t> ids) const override {
    std::string text;
    for (const std::int64_t id : ids) {
      if (id < 0 || id >= vocab_size()) {
        throw usage_error(std::to_string(id) + " is not an id of the " + std::to_string(vocab_size()) + " characters");
      }
      append_utf8(points_[static_cast<std::size_t>(id)], text);
    }
    return text;
  }

  config::Value options() const override {
    CharOptions kept;
    for (const char32_t point : points_) append_utf8(point, kept.characters);
    return config::write(kept);
  }

 private:
  [[noreturn]] static void refuse(char32_t point, const std::string& where) {
    throw usage_error("the character " + shown(point) + " does not occur in the text that the tokenizer was made from",
                      where, "leave it out, or train on a text that contains it");
  }

  const std::u32string points_;
  std::vector<std::int32_t> ids_;  // index: the code point
};

std::unique_ptr<Tokenizer> make_char(const CharOptions& options, const Text& text) {
  if (options.characters.empty()) {
    require_utf8(text);
    return std::make_unique<CharTokenizer>(distinct(text.bytes));
  }
  require_utf8({.bytes = options.characters, .sources = {{.name = "characters"}}});
  return std::make_unique<CharTokenizer>(distinct(options.characters));
}

const bool char_registered = tokenizers().add<CharOptions>("char", "each character is a token", make_char);

}  // namespace
}  // namespace ddp::tokenize
