#include "config/text/typography.h"

#include <algorithm>
#include <iterator>

namespace ddp::config {
namespace {

constexpr std::string_view kQuotes[] = {"“", "”", "„", "‟", "«", "»", "‘", "’", "‚", "‛", "′", "″"};
constexpr std::string_view kDashes[] = {"−", "–", "—", "‐", "‑"};

// Returns the member with which the text begins; empty: none.
template <std::size_t N>
std::string_view beginning(std::string_view text, const std::string_view (&members)[N]) {
  const auto found =
      std::find_if(std::begin(members), std::end(members), [&](const auto& one) { return text.starts_with(one); });
  return found == std::end(members) ? std::string_view() : *found;
}

}  // namespace

bool begins_with_typographic_quote(std::string_view text) { return !beginning(text, kQuotes).empty(); }

std::string with_keyboard_characters(std::string_view text) {
  std::string written;
  while (!text.empty()) {
    const std::string_view quote = beginning(text, kQuotes);
    const std::string_view dash = beginning(text, kDashes);
    written += !quote.empty() ? '"' : !dash.empty() ? '-' : text.front();
    text.remove_prefix(std::max({quote.size(), dash.size(), std::size_t{1}}));
  }
  return written;
}

}  // namespace ddp::config
