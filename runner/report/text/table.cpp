#include "report/text/table.h"

#include <locale.h>
#include <strings.h>
#include <sys/ioctl.h>
#include <unistd.h>
#include <wchar.h>
#include <algorithm>
#include <cstdlib>
#include <ostream>
#include <string>
#include <string_view>

namespace ddp::report {
namespace {

std::string environment(const char* name) {
  const char* value = std::getenv(name);
  return value == nullptr ? "" : value;
}

// Reads the locale's variables in their order of precedence. setlocale would take a locale that is named but not
// installed for "C", which tells nothing about the terminal.
bool has_utf8_locale() {
  for (const char* name : {"LC_ALL", "LC_CTYPE", "LANG"}) {
    const std::string value = environment(name);
    if (value.empty()) continue;
    const std::string_view charset = std::string_view(value).substr(std::min(value.find('.'), value.size()));
    return strncasecmp(charset.data(), ".utf-8", 6) == 0 || strncasecmp(charset.data(), ".utf8", 5) == 0;
  }
  return false;
}

std::size_t columns_of_environment() {
  const std::string text = environment("COLUMNS");
  const unsigned long columns = std::strtoul(text.c_str(), nullptr, 10);
  return columns >= 1 && columns <= 10000 ? columns : 80;
}

Terminal terminal_of(int descriptor) {
  Terminal terminal;
  terminal.cuts = isatty(descriptor) != 0;
  winsize size{};
  const bool told = terminal.cuts && ioctl(descriptor, TIOCGWINSZ, &size) == 0 && size.ws_col > 0;
  terminal.width = told ? size.ws_col : columns_of_environment();
  if (told && size.ws_row > 1) terminal.height = size.ws_row;
  terminal.utf8 = has_utf8_locale();
  terminal.colour = terminal.cuts && environment("NO_COLOR").empty() && environment("TERM") != "dumb";
  return terminal;
}

}  // namespace

Terminal terminal_of_stdout() { return terminal_of(STDOUT_FILENO); }

Terminal terminal_of_stderr() { return terminal_of(STDERR_FILENO); }

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

std::string clipped(std::string_view text, std::size_t width, std::string_view mark, bool keeps_end) {
  const std::size_t whole = text_width(text);
  if (whole <= width) return std::string(text);
  const std::size_t room = width - std::min(width, text_width(mark));
  const std::string shown_mark(width >= text_width(mark) ? mark : "");
  const Utf8Locale locale;
  std::size_t cut = 0;
  for (std::size_t used = 0; cut < text.size();) {
    const Character next = first_of(text.substr(cut));
    if (keeps_end ? whole - used <= room : used + next.columns > room) break;
    used += next.columns;
    cut += next.bytes;
  }
  return keeps_end ? shown_mark + std::string(text.substr(cut)) : std::string(text.substr(0, cut)) + shown_mark;
}

std::string wrapped(const std::string& text, std::size_t indent, std::size_t width) {
  const std::size_t room = std::max<std::size_t>(20, width - std::min(width, indent));
  std::string lines;
  std::size_t used = 0;
  const auto begin_line = [&] {
    lines += "\n" + std::string(indent, ' ');
    used = 0;
  };
  for (std::size_t begin = 0; begin < text.size();) {
    const std::size_t end = std::min(text.find(' ', begin), text.size());
    std::string word = text.substr(begin, end - begin);
    if (used > 0 && used + 1 + text_width(word) > room) {
      begin_line();
    } else if (begin > 0) {
      lines += " ";
      ++used;
    }
    for (std::string part; text_width(word) > room; word.erase(0, part.size())) {
      part = clipped(word, room, "");
      lines += part;
      begin_line();
    }
    lines += word;
    used += text_width(word);
    begin = end + 1;
  }
  return lines + "\n";
}

namespace {

constexpr std::size_t kGap = 2;
constexpr std::size_t kNarrowest = 6;  // columns are not cut to less than this

std::size_t line_width(const std::vector<std::size_t>& widths) {
  std::size_t all = 0;
  for (const std::size_t width : widths) all += width == 0 ? 0 : width + (all == 0 ? 0 : kGap);
  return all;
}

}  // namespace

void Table::row(std::vector<std::string> cells) {
  if (columns_.size() < cells.size()) columns_.resize(cells.size());
  rows_.push_back(std::move(cells));
}

bool Table::has_headers() const {
  return std::any_of(columns_.begin(), columns_.end(), [](const Column& column) { return !column.header.empty(); });
}

std::vector<std::size_t> Table::widths() const {
  std::vector<std::size_t> widths(columns_.size());
  for (const auto& cells : rows_) {
    for (std::size_t i = 0; i < cells.size(); ++i) widths[i] = std::max(widths[i], text_width(cells[i]));
  }
  for (std::size_t i = 0; i < widths.size(); ++i) {
    if (widths[i] > 0) widths[i] = std::max(widths[i], text_width(columns_[i].header));
  }
  return widths;
}

std::size_t Table::width() const { return line_width(widths()); }

// Drops columns that can be spared first, then cuts the widest columns.
std::vector<std::size_t> Table::fitting_widths(const Terminal& terminal, std::size_t room) const {
  std::vector<std::size_t> fitting = widths();
  if (!terminal.cuts) return fitting;
  while (line_width(fitting) > room) {
    std::size_t victim = columns_.size();
    for (std::size_t i = 0; i < columns_.size(); ++i) {
      if (fitting[i] == 0 || columns_[i].spare == 0) continue;
      if (victim == columns_.size() || columns_[i].spare > columns_[victim].spare) victim = i;
    }
    if (victim == columns_.size()) break;
    fitting[victim] = 0;
  }
  while (line_width(fitting) > room) {
    const auto widest = std::max_element(fitting.begin(), fitting.end());
    if (*widest <= kNarrowest) break;
    --*widest;
  }
  return fitting;
}

void Table::print_row(std::ostream& out, const std::vector<std::string>& cells, const std::vector<std::size_t>& widths,
                      const Terminal& terminal, const std::string& indent, bool is_header) const {
  std::string line = indent;
  std::size_t spaces = 0;  // written only before more text
  bool first = true;
  for (std::size_t i = 0; i < widths.size(); ++i) {
    if (widths[i] == 0) continue;
    const std::string full = i < cells.size() ? cells[i] : "";
    const std::string cell =
        terminal.cuts ? clipped(full, widths[i], terminal.utf8 ? "…" : "~", columns_[i].keeps_end) : full;
    const std::size_t rest = widths[i] - std::min(widths[i], text_width(cell));
    spaces += (first ? 0 : kGap) + (columns_[i].right ? rest : 0);
    first = false;
    if (!cell.empty()) {
      const char* colour = !is_header && terminal.colour && columns_[i].colour ? columns_[i].colour(full) : "";
      line += std::string(spaces, ' ') + (*colour ? std::string("\x1b[") + colour + "m" + cell + "\x1b[0m" : cell);
      spaces = 0;
    }
    spaces += columns_[i].right ? 0 : rest;
  }
  out << line << "\n";
}

void Table::print(std::ostream& out, const Terminal& terminal, const std::string& indent) const {
  const auto widths = fitting_widths(terminal, terminal.width - std::min(terminal.width, indent.size()));
  if (has_headers()) {
    std::vector<std::string> headers;
    for (const Column& column : columns_) headers.push_back(column.header);
    print_row(out, headers, widths, terminal, indent, /*is_header=*/true);
  }
  for (const auto& cells : rows_) print_row(out, cells, widths, terminal, indent, /*is_header=*/false);
}

}  // namespace ddp::report
