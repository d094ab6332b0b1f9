#include "record/hash.h"

#include <cstdio>

#define XXH_INLINE_ALL
#include <xxhash.h>

namespace ddp::record {

std::string hash_hex(const void* data, std::size_t size) {
  char digits[17];
  std::snprintf(digits, sizeof digits, "%016llx", static_cast<unsigned long long>(XXH3_64bits(data, size)));
  return digits;
}

std::string hash_hex(const std::string& text) { return hash_hex(text.data(), text.size()); }

}  // namespace ddp::record
