#include "record/hash.h"

#include <cerrno>
#include <cstdio>
#include <fstream>
#include <vector>

#define XXH_INLINE_ALL
#include <xxhash.h>

#include "base/error.h"
#include "base/file_descriptor.h"

namespace ddp::record {

namespace {

std::string digits_of(XXH64_hash_t hash) {
  char digits[17];
  std::snprintf(digits, sizeof digits, "%016llx", static_cast<unsigned long long>(hash));
  return digits;
}

}  // namespace

std::string hash_hex(const void* data, std::size_t size) { return digits_of(XXH3_64bits(data, size)); }

std::string hash_hex(const std::string& text) { return hash_hex(text.data(), text.size()); }

std::string hash_hex_of(const std::filesystem::path& file) {
  std::ifstream in(file, std::ios::binary);
  if (!in) throw training_error("cannot be read: " + errno_text(errno), file.string());
  XXH3_state_t state;
  XXH3_64bits_reset(&state);
  std::vector<char> piece(1 << 20);
  while (in.read(piece.data(), static_cast<std::streamsize>(piece.size())) || in.gcount() > 0) {
    XXH3_64bits_update(&state, piece.data(), static_cast<std::size_t>(in.gcount()));
  }
  if (in.bad()) throw training_error("cannot be read: " + errno_text(errno), file.string());
  return digits_of(XXH3_64bits_digest(&state));
}

}  // namespace ddp::record
