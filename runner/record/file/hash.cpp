#include "record/file/hash.h"

#include <algorithm>
#include <cstdio>
#include <vector>

#define XXH_INLINE_ALL
#include <xxhash.h>

#include "record/file/input_file.h"

namespace ddp::record {

namespace {

constexpr std::uint64_t kPiece = 1 << 20;

std::string digits_of(XXH64_hash_t hash) {
  char digits[17];
  std::snprintf(digits, sizeof digits, "%016llx", static_cast<unsigned long long>(hash));
  return digits;
}

}  // namespace

std::string hash_hex(const void* data, std::size_t size) { return digits_of(XXH3_64bits(data, size)); }

std::string hash_hex(const std::string& text) { return hash_hex(text.data(), text.size()); }

std::string hash_hex_of(const std::filesystem::path& file) {
  const InputFile in(file);
  XXH3_state_t state;
  XXH3_64bits_reset(&state);
  std::vector<char> piece(std::min<std::uint64_t>(kPiece, in.size()));
  for (std::uint64_t done = 0; done < in.size(); done += piece.size()) {
    piece.resize(std::min<std::uint64_t>(piece.size(), in.size() - done));
    in.read(done, piece.data(), piece.size());
    XXH3_64bits_update(&state, piece.data(), piece.size());
  }
  return digits_of(XXH3_64bits_digest(&state));
}

}  // namespace ddp::record
