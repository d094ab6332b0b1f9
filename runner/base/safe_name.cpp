#include "base/safe_name.h"

#include <algorithm>

namespace ddp {
namespace {

// Not std::isalnum, which depends on the locale.
bool is_safe(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '.' || c == '_' || c == '-';
}

}  // namespace

bool is_safe_name(const std::string& name) {
  return !name.empty() && name.size() <= kLongestSafeName && name.front() != '.' && name.front() != '-' &&
         std::all_of(name.begin(), name.end(), is_safe);
}

std::string safe_name_like(const std::string& text) {
  std::string name;
  for (const char c : text) {
    const bool may_begin = !name.empty() || (c != '.' && c != '-');
    if (is_safe(c) && may_begin) name += c;
    if (!is_safe(c) && !name.empty() && name.back() != '-') name += '-';
  }
  name.resize(std::min(name.size(), kLongestSafeName));
  while (name.ends_with('-')) name.pop_back();
  return name;
}

}  // namespace ddp
