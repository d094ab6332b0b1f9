#include "tensorboard/tfrecord.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cstring>

namespace ddp::tensorboard {
namespace {

static_assert(std::endian::native == std::endian::little);

// Our records are far smaller; the length in a damaged file may be any number.
constexpr std::uint64_t kMostBytes = 1 << 20;
constexpr std::size_t kReadAtOnce = 1 << 20;
constexpr std::size_t kHead = sizeof(std::uint64_t) + sizeof(std::uint32_t);

constexpr std::array<std::uint32_t, 256> crc_table() {
  std::array<std::uint32_t, 256> table{};
  for (std::uint32_t byte = 0; byte < table.size(); ++byte) {
    std::uint32_t crc = byte;
    for (int bit = 0; bit < 8; ++bit) crc = (crc >> 1) ^ ((crc & 1) * 0x82f63b78u);
    table[byte] = crc;
  }
  return table;
}

constexpr auto kTable = crc_table();

std::uint32_t masked(std::string_view bytes) { return std::rotr(crc32c(bytes), 15) + 0xa282ead8u; }

template <class Number>
void append_number(std::string& text, Number number) {
  char bytes[sizeof number];
  std::memcpy(bytes, &number, sizeof number);
  text.append(bytes, sizeof number);
}

template <class Number>
Number number_at(std::string_view bytes, std::size_t offset) {
  Number number;
  std::memcpy(&number, bytes.data() + offset, sizeof number);
  return number;
}

}  // namespace

std::uint32_t crc32c(std::string_view bytes) {
  std::uint32_t crc = ~0u;
  for (const char c : bytes) crc = (crc >> 8) ^ kTable[(crc ^ static_cast<unsigned char>(c)) & 0xff];
  return ~crc;
}

void append_record(std::string& file, std::string_view record) {
  const std::size_t begin = file.size();
  append_number(file, static_cast<std::uint64_t>(record.size()));
  append_number(file, masked(std::string_view(file).substr(begin)));
  file += record;
  append_number(file, masked(record));
}

std::optional<std::string_view> RecordReader::take(std::size_t size) {
  if (buffer_.size() - used_ < size) {
    buffer_.erase(0, used_);
    used_ = 0;
    const std::size_t held = buffer_.size();
    const std::uint64_t more = std::min<std::uint64_t>(std::max(kReadAtOnce, size), file_.size() - read_);
    buffer_.resize(held + more);
    file_.read(read_, buffer_.data() + held, more);
    read_ += more;
    if (buffer_.size() < size) return {};
  }
  const auto taken = std::string_view(buffer_).substr(used_, size);
  used_ += size;
  return taken;
}

std::optional<std::string_view> RecordReader::next() {
  const auto head = take(kHead);
  if (!head) return {};
  const auto length = number_at<std::uint64_t>(*head, 0);
  const auto check = number_at<std::uint32_t>(*head, sizeof length);
  if (check != masked(head->substr(0, sizeof length)) || length > kMostBytes) return {};
  const auto body = take(length + sizeof check);
  if (!body || number_at<std::uint32_t>(*body, length) != masked(body->substr(0, length))) return {};
  return body->substr(0, length);
}

}  // namespace ddp::tensorboard
