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
  return !name.empty() && name.size() <= kLongestSafeName && name.front() != '.' &&
         std::all_of(name.begin(), name.end(), is_safe);
}

}  // namespace ddp
