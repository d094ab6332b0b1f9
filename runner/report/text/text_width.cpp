#include "report/text/text_width.h"

#include <locale.h>
#include <wchar.h>
#include <algorithm>

namespace ddp::report {
namespace {

// Uses the character widths of libc's UTF-8 locale while it lives, whatever the program's locale.
class Utf8Locale {
 public:
  Utf8Locale() : before_(uselocale(utf8())) {}
  ~Utf8Locale() { uselocale(before_); }
  Utf8Locale(const Utf8Locale&) = delete;
  Utf8Locale& operator=(const Utf8Locale&) = delete;

 private:
  static locale_t utf8() {
    static const locale_t kLocale = newlocale(LC_CTYPE_MASK, "C.UTF-8", nullptr);
    return kLocale;  // null if there is none: the current locale stays
  }
  const locale_t before_;
};

bool is_ascii(std::string_view text) {
  return std::none_of(text.begin(), text.end(), [](unsigned char byte) { return byte >= 0x80; });
}

// The first character of a text: its bytes and columns.
struct Character {
  std::size_t bytes = 1;
  std::size_t columns = 1;
};
Character first_of(std::string_view text) {
  wchar_t character = 0;
  mbstate_t state{};
  const std::size_t bytes = mbrtowc(&character, text.data(), text.size(), &state);
  if (bytes == 0 || bytes > text.size()) return {};  // invalid: shown as one character
  return {.bytes = bytes, .columns = static_cast<std::size_t>(std::max(0, wcwidth(character)))};
}

}  // namespace

std::size_t text_width(std::string_view text) {
  if (is_ascii(text)) return text.size();
  const Utf8Locale locale;
  std::size_t width = 0;
  while (!text.empty()) {
    const Character next = first_of(text);
    width += next.columns;
    text.remove_prefix(next.bytes);
  }
  return width;
}

std::string clipped(std::string_view text, std::size_t width, std::string_view mark) {
  if (text_width(text) <= width) return std::string(text);
  const std::size_t room = width - std::min(width, text_width(mark));
  const Utf8Locale locale;
  std::size_t end = 0;
  for (std::size_t used = 0; end < text.size();) {
    const Character next = first_of(text.substr(end));
    if (used + next.columns > room) break;
    used += next.columns;
    end += next.bytes;
  }
  return std::string(text.substr(0, end)) + (width >= text_width(mark) ? std::string(mark) : "");
}

}  // namespace ddp::report
