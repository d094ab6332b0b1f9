#include "tokenize/words.h"

#define PCRE2_CODE_UNIT_WIDTH 8
#include <pcre2.h>
#include <new>

#include "base/error.h"

namespace ddp::tokenize {
namespace {

// White space is Unicode's White_Space, as in Python's package regex; PCRE2's \s would add U+180E.
#define DDP_SPACE R"(\x{9}-\x{d}\x{20}\x{85}\x{a0}\x{1680}\x{2000}-\x{200a}\x{2028}\x{2029}\x{202f}\x{205f}\x{3000})"
constexpr const char* kWords = "'s|'t|'re|'ve|'m|'ll|'d| ?\\p{L}+| ?\\p{N}+| ?[^" DDP_SPACE "\\p{L}\\p{N}]+|[" DDP_SPACE
                               "]+(?![^" DDP_SPACE "])|[" DDP_SPACE "]+";
#undef DDP_SPACE

// The regular expression, compiled once.
class Compiled {
 public:
  Compiled() {
    int error = 0;
    PCRE2_SIZE place = 0;
    code_ = pcre2_compile(reinterpret_cast<PCRE2_SPTR>(kWords), PCRE2_ZERO_TERMINATED, PCRE2_UTF | PCRE2_UCP, &error,
                          &place, nullptr);
    if (code_ == nullptr)
      throw training_error("PCRE2 rejects the regular expression for words: it lacks Unicode support");
    // If it cannot be compiled to machine code, PCRE2 interprets it with the same result.
    pcre2_jit_compile(code_, PCRE2_JIT_COMPLETE);
  }
  ~Compiled() { pcre2_code_free(code_); }
  Compiled(const Compiled&) = delete;
  Compiled& operator=(const Compiled&) = delete;

  static const pcre2_code* get() {
    static const Compiled compiled;
    return compiled.code_;
  }

 private:
  pcre2_code* code_ = nullptr;
};

}  // namespace

struct Words::Match {
  Match() : data(pcre2_match_data_create(1, nullptr)) {
    if (data == nullptr) throw std::bad_alloc();
  }
  ~Match() { pcre2_match_data_free(data); }
  Match(const Match&) = delete;
  Match& operator=(const Match&) = delete;

  pcre2_match_data* const data;
};

Words::Words(std::string_view text) : text_(text), match_(std::make_unique<Match>()) {}

Words::~Words() = default;

std::string_view Words::next() {
  if (place_ == text_.size()) return {};
  // Without PCRE2_NO_UTF_CHECK each call would check the whole text.
  const int found = pcre2_match(Compiled::get(), reinterpret_cast<PCRE2_SPTR>(text_.data()), text_.size(), place_,
                                PCRE2_ANCHORED | PCRE2_NO_UTF_CHECK, match_->data, nullptr);
  const std::size_t end = found > 0 ? pcre2_get_ovector_pointer(match_->data)[1] : place_;
  if (end <= place_) {
    throw training_error("PCRE2 finds no word (error " + std::to_string(found) + ")",
                         "byte " + std::to_string(place_) + " of the text");
  }
  const std::string_view word = text_.substr(place_, end - place_);
  place_ = end;
  return word;
}

}  // namespace ddp::tokenize
