#include "tokenize/pattern.h"

#include <algorithm>
#include <cctype>
#include <cstdint>
#include <new>
#include <stdexcept>
#include <string>

#define PCRE2_CODE_UNIT_WIDTH 8
#include <pcre2.h>

#include "base/error.h"
#include "config/text/source.h"
#include "tokenize/utf8.h"

namespace ddp::tokenize {
namespace {

// White space is Unicode's White_Space; PCRE2's \s would add U+180E.
constexpr const char* kSpace =
    R"(\x{9}-\x{d}\x{20}\x{85}\x{a0}\x{1680}\x{2000}-\x{200a}\x{2028}\x{2029}\x{202f}\x{205f}\x{3000})";

// PCRE2 takes ten million steps for one match. A run of so many blanks may need some for each of them.
constexpr std::size_t kLeastSteps = 10'000'000;
constexpr std::size_t kStepsPerByte = 20;

// The length of the escape, group or number of repetitions at the beginning of an expression. 0: it is not supported,
// or has another meaning in PCRE2.
std::size_t length_of_escape(std::string_view regex) {
  const char c = regex.size() > 1 ? regex[1] : 'Q';
  if (c == 'p' || c == 'P') {  // of categories: scripts have other members in PCRE2
    const std::size_t end = regex.find('}');
    return regex.substr(2).starts_with('{') && (end == 4 || end == 5) ? end + 1 : 0;
  }
  const bool sign = static_cast<unsigned char>(c) < 0x80 && std::isalnum(static_cast<unsigned char>(c)) == 0;
  return sign || std::string_view("dDrnt").find(c) != std::string_view::npos ? 2 : 0;
}

std::size_t length_of_group(std::string_view regex) {
  for (const std::string_view known : {"(?:", "(?i:", "(?=", "(?!", "(?<=", "(?<!"}) {
    if (regex.starts_with(known)) return known.size();
  }
  return regex.starts_with("(?") || regex.starts_with("(*") ? 0 : 1;
}

std::size_t length_of_repetitions(std::string_view regex) {
  const std::size_t end = regex.find_first_not_of("0123456789,", 1);
  const bool ends = end != regex.npos && end > 1 && regex[1] != ',' && regex[end] == '}';
  const char after = ends && end + 1 < regex.size() ? regex[end + 1] : ' ';
  return ends && after != '+' && after != '?' ? end + 1 : 0;
}

// Rewrites an expression of Oniguruma's syntax for PCRE2. Oniguruma nests and intersects classes.
std::string for_pcre2(const std::string_view regex) {
  std::string out = "(*LF)";
  bool in_class = false;
  for (std::string_view rest = regex; !rest.empty();) {
    std::size_t length = 1;
    if (rest.starts_with("\\s") || (rest.starts_with("\\S") && !in_class)) {
      out += in_class ? kSpace : (rest[1] == 's' ? "[" : "[^") + std::string(kSpace) + "]";
      rest.remove_prefix(2);
      continue;
    }
    if (rest[0] == '\\') {
      length = length_of_escape(rest);
    } else if (in_class) {
      length = rest[0] == '[' || rest.starts_with("&&") ? 0 : 1;
      in_class = rest[0] != ']';
    } else if (rest[0] == '[') {
      length = rest.starts_with("[^") ? 2 : 1;
      in_class = true;
      if (rest.substr(length).starts_with(']')) length = 0;
    } else if (rest[0] == '(') {
      length = length_of_group(rest);
    } else if (rest[0] == '{') {
      length = length_of_repetitions(rest);
    }
    if (length == 0) {
      throw std::runtime_error("the regular expression " + config::in_quotes(regex) + " has " +
                               config::in_quotes(rest) + ", whose beginning is not supported");
    }
    out += rest.substr(0, length);
    rest.remove_prefix(length);
  }
  return out;
}

template <class T>
std::unique_ptr<T, void (*)(T*)> owned(T* made, void (*release)(T*)) {
  if (made == nullptr) throw std::bad_alloc();
  return {made, release};
}

}  // namespace

Pattern::Pattern(std::string_view regex) {
  const std::string pcre2 = for_pcre2(regex);
  int error = 0;
  PCRE2_SIZE place = 0;
  pcre2_code* const code = pcre2_compile(reinterpret_cast<PCRE2_SPTR>(pcre2.data()), pcre2.size(),
                                         PCRE2_UTF | PCRE2_UCP | PCRE2_MULTILINE, &error, &place, nullptr);
  if (code == nullptr) {
    PCRE2_UCHAR message[256] = {};
    pcre2_get_error_message(error, message, sizeof message);
    throw std::runtime_error("PCRE2 rejects the regular expression " + config::in_quotes(regex) + ": " +
                             reinterpret_cast<const char*>(message));
  }
  code_ = std::shared_ptr<pcre2_code>(code, pcre2_code_free);
  // If it cannot be compiled to machine code, PCRE2 interprets it with the same result.
  pcre2_jit_compile(code, PCRE2_JIT_COMPLETE);
}

void Pattern::cut(std::string_view text, const Take& take) const {
  // `take` may call this again: nothing in them counts after it.
  static thread_local const auto match = owned(pcre2_match_data_create(1, nullptr), pcre2_match_data_free);
  static thread_local const auto limits = owned(pcre2_match_context_create(nullptr), pcre2_match_context_free);
  const std::size_t steps =
      std::clamp<std::size_t>(text.size(), kLeastSteps / kStepsPerByte, UINT32_MAX / kStepsPerByte);
  const auto match_from = [&](std::size_t place, std::uint32_t options) {
    pcre2_set_match_limit(limits.get(), static_cast<std::uint32_t>(steps * kStepsPerByte));
    // Without PCRE2_NO_UTF_CHECK each call would check the whole text.
    return pcre2_match(static_cast<const pcre2_code*>(code_.get()), reinterpret_cast<PCRE2_SPTR>(text.data()),
                       text.size(), place, PCRE2_NO_UTF_CHECK | options, match.get(), limits.get());
  };
  bool any = false;
  std::size_t done = 0;
  for (std::size_t place = 0;;) {
    int found = match_from(place, 0);
    if (found == PCRE2_ERROR_JIT_STACKLIMIT) found = match_from(place, PCRE2_NO_JIT);
    if (found == PCRE2_ERROR_NOMATCH) break;
    if (found < 0) {
      throw usage_error(
          "PCRE2 cannot search it by the tokenizer's regular expression (error " + std::to_string(found) + ")",
          "byte " + std::to_string(place) + " of the text");
    }
    const std::size_t begin = pcre2_get_ovector_pointer(match.get())[0];
    const std::size_t end = pcre2_get_ovector_pointer(match.get())[1];
    if (any && begin == end && end == done) {
      if (place == text.size()) break;
      next_code_point(text, place);
      continue;
    }
    if (done < begin) take(text.substr(done, begin - done), false);
    take(text.substr(begin, end - begin), true);
    any = true;
    done = place = end;
  }
  if (done < text.size()) take(text.substr(done), false);
}

}  // namespace ddp::tokenize
