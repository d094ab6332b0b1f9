#include "report/text/terminal.h"

#include <strings.h>
#include <sys/ioctl.h>
#include <unistd.h>
#include <cstdlib>
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
  terminal.utf8 = has_utf8_locale();
  terminal.colour = terminal.cuts && environment("NO_COLOR").empty() && environment("TERM") != "dumb";
  return terminal;
}

}  // namespace

Terminal terminal_of_stdout() { return terminal_of(STDOUT_FILENO); }

Terminal terminal_of_stderr() { return terminal_of(STDERR_FILENO); }

}  // namespace ddp::report
