#include <algorithm>
#include <array>

#include "base/error.h"
#include "tokenize/tokenizer.h"

namespace ddp::tokenize {
namespace {

constexpr std::int64_t kBytes = 256;
// Ids are passed on in pieces of this size.
constexpr std::size_t kBytesAtOnce = 1 << 12;

// Each byte is a token: every file can be encoded, whatever its character encoding.
class ByteTokenizer final : public Tokenizer {
 public:
  std::int64_t vocab_size() const override { return kBytes; }

  void encode(const Text& text, const TakeIds& take) const override {
    std::array<std::int32_t, kBytesAtOnce> ids{};
    for (std::size_t begin = 0; begin < text.bytes.size(); begin += ids.size()) {
      const std::string_view piece = text.bytes.substr(begin, ids.size());
      std::transform(piece.begin(), piece.end(), ids.begin(), [](char c) { return static_cast<unsigned char>(c); });
      take({ids.data(), piece.size()});
    }
  }

  std::string decode(std::span<const std::int64_t> ids) const override {
    std::string text;
    for (const std::int64_t id : ids) {
      if (id < 0 || id >= kBytes) throw usage_error(std::to_string(id) + " is not a byte");
      text.push_back(static_cast<char>(id));
    }
    return text;
  }

  config::Value options() const override { return config::Value::object(); }
};

const bool byte_registered =
    tokenizers().add<config::NoOptions>("byte", "each byte is a token", config::made<ByteTokenizer>);

}  // namespace
}  // namespace ddp::tokenize
