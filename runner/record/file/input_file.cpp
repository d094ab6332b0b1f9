#include "record/file/input_file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>
#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <vector>

#define XXH_INLINE_ALL
#include <xxhash.h>

#include "base/error.h"

namespace ddp::record {
namespace {

// On some file systems a signal interrupts open().
int open_to_read(const std::filesystem::path& file) {
  for (;;) {
    const int opened = open(file.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
    if (opened >= 0 || errno != EINTR) return opened;
  }
}

constexpr std::uint64_t kPiece = 1 << 20;

std::string digits_of(XXH64_hash_t hash) {
  char digits[17];
  std::snprintf(digits, sizeof digits, "%016llx", static_cast<unsigned long long>(hash));
  return digits;
}

}  // namespace

InputFile::InputFile(const std::filesystem::path& file) : name_(file.string()), file_(open_to_read(file)) {
  struct stat status {};
  if (!file_ || fstat(file_.get(), &status) != 0) throw training_error("cannot be read: " + errno_text(errno), name_);
  if (!S_ISREG(status.st_mode)) throw training_error("cannot be read: it is not a regular file", name_);
  size_ = static_cast<std::uint64_t>(status.st_size);
}

void InputFile::read(std::uint64_t offset, void* data, std::size_t size) const {
  char* next = static_cast<char*>(data);
  while (size > 0) {
    const ssize_t taken = pread(file_.get(), next, size, static_cast<off_t>(offset));
    if (taken < 0 && errno == EINTR) continue;
    if (taken < 0) throw training_error("cannot be read: " + errno_text(errno), name_);
    if (taken == 0) throw training_error("cannot be read: it has become shorter", name_);
    next += taken;
    offset += static_cast<std::uint64_t>(taken);
    size -= static_cast<std::size_t>(taken);
  }
}

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
