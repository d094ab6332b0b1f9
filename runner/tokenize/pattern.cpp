#include "tokenize/pattern.h"

#include <algorithm>
#include <new>
#include <stdexcept>
#include <utility>

#define PCRE2_CODE_UNIT_WIDTH 8
#include <pcre2.h>

#include "base/error.h"
#include "config/text/source.h"
#include "tokenize/utf8.h"

namespace ddp::tokenize {
namespace {

// White space is Unicode's White_Space; PCRE2's \s would add U+180E.
constexpr const char* kSpaceClass =
    R"(\x{9}-\x{d}\x{20}\x{85}\x{a0}\x{1680}\x{2000}-\x{200a}\x{2028}\x{2029}\x{202f}\x{205f}\x{3000})";
// Outside of a class Oniguruma's \w takes Latin-1's superscripts and fractions for word characters.
constexpr const char* kLatinNumbers = R"(\x{b2}\x{b3}\x{b9}\x{bc}-\x{be})";

constexpr std::size_t kLongText = 500'000;

// Rewrites an expression of Oniguruma's syntax for PCRE2.
class Rewriting {
 public:
  explicit Rewriting(std::string_view regex) : regex_(regex) {}

  std::string run() {
    while (place_ < regex_.size()) {
      const char c = regex_[place_];
      if (c == '\\') {
        escape(/*in_class=*/false);
      } else if (c == '[') {
        character_class();
      } else if (c == '(') {
        group();
      } else if (c == '{') {
        repeat();
      } else {
        copy(1);
      }
    }
    return out_;
  }

 private:
  [[noreturn]] void refuse(std::size_t length) const {
    throw std::runtime_error("the regular expression " + config::in_quotes(regex_) + " has " +
                             config::in_quotes(regex_.substr(place_, length)) + ", which is not supported");
  }

  bool here(std::string_view text) const { return regex_.substr(place_).starts_with(text); }
  void copy(std::size_t length) {
    out_ += regex_.substr(place_, length);
    place_ = std::min(place_ + length, regex_.size());
  }
  void replace(std::size_t length, const std::string& text) {
    out_ += text;
    place_ += length;
  }

  void escape(bool in_class) {
    if (place_ + 1 == regex_.size()) refuse(1);
    const char c = regex_[place_ + 1];
    const std::string space = kSpaceClass;
    const std::string word = kWordClass;
    const bool ascii_sign = static_cast<unsigned char>(c) < 0x80 && std::isalnum(static_cast<unsigned char>(c)) == 0;
    if (c == 's') return replace(2, in_class ? space : "[" + space + "]");
    if (c == 'w') return replace(2, in_class ? word : "[" + word + kLatinNumbers + "]");
    if (c == 'S' && !in_class) return replace(2, "[^" + space + "]");
    if (c == 'W' && !in_class) return replace(2, "[^" + word + kLatinNumbers + "]");
    if (c == 'v') return replace(2, "\\x0b");
    if (c == 'u' && place_ + 6 <= regex_.size()) {
      return replace(6, "\\x{" + std::string(regex_.substr(place_ + 2, 4)) + "}");
    }
    const bool braced = (c == 'x' || c == 'p' || c == 'P') && regex_.substr(place_ + 2).starts_with('{');
    const std::size_t brace = regex_.find('}', place_);
    if (braced && brace != regex_.npos) return copy(brace - place_ + 1);
    const bool anchor = !in_class && (c == 'A' || c == 'z');
    if (ascii_sign || anchor || std::string_view("dDrntfae").find(c) != std::string_view::npos) return copy(2);
    refuse(2);
  }

  // Oniguruma nests and intersects classes.
  void character_class() {
    copy(here("[^") ? 2 : 1);
    if (here("]")) copy(1);
    while (!here("]")) {
      if (place_ == regex_.size()) refuse(0);
      if (here("[") || here("&&")) refuse(2);
      if (here("\\")) {
        escape(/*in_class=*/true);
      } else {
        copy(1);
      }
    }
    copy(1);
  }

  void group() {
    for (const char* known : {"(?:", "(?i:", "(?i)", "(?=", "(?!", "(?<=", "(?<!", "(?>"}) {
      if (here(known)) return copy(std::string_view(known).size());
    }
    if (here("(?") || here("(*")) refuse(3);
    copy(1);
  }

  // {1,3}+ repeats in Oniguruma and is possessive in PCRE2.
  void repeat() {
    const std::size_t end = regex_.find('}', place_);
    const std::string_view inside = regex_.substr(place_ + 1, end == regex_.npos ? end : end - place_ - 1);
    const bool counts = inside.find_first_not_of("0123456789,") == inside.npos && !inside.starts_with(',');
    if (end == regex_.npos || inside.empty() || !counts) refuse(inside.size() + 2);
    copy(inside.size() + 2);
    if (here("+")) refuse(1);
  }

  const std::string_view regex_;
  std::size_t place_ = 0;
  std::string out_;
};

std::shared_ptr<const void> compile(std::string_view pcre2, std::string_view shown, std::uint32_t options) {
  int error = 0;
  PCRE2_SIZE place = 0;
  const std::unique_ptr<pcre2_compile_context, decltype(&pcre2_compile_context_free)> context(
      pcre2_compile_context_create(nullptr), pcre2_compile_context_free);
  if (context == nullptr) throw std::bad_alloc();
  pcre2_set_newline(context.get(), PCRE2_NEWLINE_LF);
  pcre2_code* const code = pcre2_compile(reinterpret_cast<PCRE2_SPTR>(pcre2.data()), pcre2.size(), PCRE2_UTF | options,
                                         &error, &place, context.get());
  if (code == nullptr) {
    PCRE2_UCHAR message[256] = {};
    pcre2_get_error_message(error, message, sizeof message);
    throw std::runtime_error("PCRE2 rejects the regular expression " + config::in_quotes(shown) + ": " +
                             reinterpret_cast<const char*>(message));
  }
  // If it cannot be compiled to machine code, PCRE2 interprets it with the same result.
  pcre2_jit_compile(code, PCRE2_JIT_COMPLETE);
  return {code, [](const void* compiled) { pcre2_code_free(static_cast<pcre2_code*>(const_cast<void*>(compiled))); }};
}

}  // namespace

Pattern::Pattern(std::string_view regex) : code_(compile(Rewriting(regex).run(), regex, PCRE2_UCP | PCRE2_MULTILINE)) {}

Pattern Pattern::literal(std::string_view text) {
  Pattern pattern("");
  pattern.code_ = compile(text, text, PCRE2_LITERAL);
  return pattern;
}

Parts::Parts(const Pattern& pattern, std::string_view text)
    : pattern_(pattern), text_(text), match_(pcre2_match_data_create(1, nullptr), [](void* match) {
        pcre2_match_data_free(static_cast<pcre2_match_data*>(match));
      }) {
  if (match_ == nullptr) throw std::bad_alloc();
  if (text.size() < kLongText) return;
  // PCRE2 takes ten million steps for one match. A run of so many blanks may need one for each of them.
  limits_ = {pcre2_match_context_create(nullptr),
             [](void* context) { pcre2_match_context_free(static_cast<pcre2_match_context*>(context)); }};
  if (limits_ == nullptr) throw std::bad_alloc();
  pcre2_set_match_limit(static_cast<pcre2_match_context*>(limits_.get()),
                        static_cast<std::uint32_t>(std::min<std::size_t>(text.size(), UINT32_MAX / 20) * 20));
}

// Finds the next match and leaves it in `waiting_`.
bool Parts::find() {
  auto* const match = static_cast<pcre2_match_data*>(match_.get());
  while (search_ <= text_.size()) {
    const auto match_with = [&](std::uint32_t options) {
      // Without PCRE2_NO_UTF_CHECK each call would check the whole text.
      return pcre2_match(static_cast<const pcre2_code*>(pattern_.code_.get()),
                         reinterpret_cast<PCRE2_SPTR>(text_.data()), text_.size(), search_,
                         PCRE2_NO_UTF_CHECK | options, match, static_cast<pcre2_match_context*>(limits_.get()));
    };
    int found = match_with(0);
    if (found == PCRE2_ERROR_JIT_STACKLIMIT) found = match_with(PCRE2_NO_JIT);
    if (found == PCRE2_ERROR_NOMATCH) break;
    if (found < 0) {
      throw usage_error(
          "PCRE2 cannot search it by the tokenizer's regular expression (error " + std::to_string(found) + ")",
          "byte " + std::to_string(search_) + " of the text");
    }
    const PCRE2_SIZE* const place = pcre2_get_ovector_pointer(match);
    if (place[0] == place[1] && last_end_ == place[1]) {
      if (search_ < text_.size())
        next_code_point(text_, search_);
      else
        ++search_;
      continue;
    }
    search_ = place[1];
    last_end_ = place[1];
    waiting_.emplace(place[0], place[1]);
    return true;
  }
  search_ = text_.size() + 1;
  return false;
}

bool Parts::next() {
  const std::size_t done = end_;
  if (!waiting_ && !find()) {
    begin_ = done;
    end_ = text_.size();
    is_match_ = false;
    return begin_ < end_;
  }
  begin_ = done;
  end_ = waiting_->first;
  is_match_ = begin_ == end_;
  if (!is_match_) return true;
  end_ = waiting_->second;
  waiting_.reset();
  return true;
}

bool is_white(char32_t point) {
  return (point >= 9 && point <= 13) || point == 0x20 || point == 0x85 || point == 0xA0 || point == 0x1680 ||
         (point >= 0x2000 && point <= 0x200A) || point == 0x2028 || point == 0x2029 || point == 0x202F ||
         point == 0x205F || point == 0x3000;
}

}  // namespace ddp::tokenize
