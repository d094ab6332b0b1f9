#include "datasets/text/preview.h"

#include <algorithm>
#include <cstdio>
#include <memory>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "base/error.h"
#include "tokenize/tokenizer.h"

namespace ddp::datasets {
namespace {

using config::Value;

constexpr std::int64_t kBlocksShown = 4;
constexpr std::int64_t kTokensShown = 400;  // of a block
constexpr std::int64_t kTokensCounted = 10'000'000;
constexpr std::int64_t kCountedAtOnce = 1 << 16;
constexpr std::size_t kFrequent = 20;

// The texts of single tokens. A token that is only a part of a character becomes its bytes: "E2 80".
class TokenTexts {
 public:
  explicit TokenTexts(const Value& tokenizer) {
    if (tokenizer.is_object()) tokenizer_ = tokenize::tokenizer_from_json(tokenizer).tokenizer;
  }

  Value of(std::int64_t id) const {
    if (!tokenizer_) return {};
    const std::string text = tokenizer_->decode({&id, 1});
    try {
      tokenize::require_utf8({.bytes = text, .sources = {}});
      return text;
    } catch (const Error&) {
      return in_hexadecimal(text);
    }
  }

 private:
  static std::string in_hexadecimal(const std::string& bytes) {
    std::string text;
    for (const char byte : bytes) {
      char digits[4];
      std::snprintf(digits, sizeof digits, text.empty() ? "%02X" : " %02X", static_cast<unsigned char>(byte));
      text += digits;
    }
    return text;
  }

  std::shared_ptr<const tokenize::Tokenizer> tokenizer_;
};

Value blocks_of(const at::Tensor& inputs, const TokenTexts& texts) {
  Value blocks = Value::array();
  const std::int64_t length = std::min(kTokensShown, inputs.size(1));
  for (std::int64_t i = 0; i < std::min(kBlocksShown, inputs.size(0)); ++i) {
    const auto* ids = inputs.const_data_ptr<std::int64_t>() + i * inputs.size(1);
    Value block = Value::array();
    for (std::int64_t k = 0; k < length; ++k) block.push_back({{"id", ids[k]}, {"text", texts.of(ids[k])}});
    blocks.push_back(std::move(block));
  }
  return blocks;
}

Value most_frequent(const Tokens& tokens, std::int64_t counted, const TokenTexts& texts) {
  std::unordered_map<std::int64_t, std::int64_t> counts;
  std::vector<std::int64_t> some(static_cast<std::size_t>(kCountedAtOnce));
  for (std::int64_t begin = 0; begin < counted; begin += kCountedAtOnce) {
    const std::int64_t size = std::min(kCountedAtOnce, counted - begin);
    tokens.copy(begin, size, some.data());
    for (std::int64_t k = 0; k < size; ++k) ++counts[some[static_cast<std::size_t>(k)]];
  }
  std::vector<std::pair<std::int64_t, std::int64_t>> order;  // (negative count, id): the lowest id of a count is first
  for (const auto& [id, count] : counts) order.emplace_back(-count, id);
  const std::size_t shown = std::min(kFrequent, order.size());
  std::partial_sort(order.begin(), order.begin() + static_cast<std::ptrdiff_t>(shown), order.end());
  Value frequent = Value::array();
  for (std::size_t i = 0; i < shown; ++i) {
    const auto [count, id] = order[i];
    frequent.push_back({{"id", id}, {"text", texts.of(id)}, {"count", -count}});
  }
  return frequent;
}

}  // namespace

Value preview_text(const Tokens& tokens, const at::Tensor& inputs, const Value& tokenizer) {
  const TokenTexts texts(tokenizer);
  const std::int64_t counted = std::min(kTokensCounted, tokens.size());
  return {{"blocks", blocks_of(inputs, texts)},
          {"block_left_out", inputs.size(1) - std::min(kTokensShown, inputs.size(1))},
          {"frequent", most_frequent(tokens, counted, texts)},
          {"counted", counted}};
}

}  // namespace ddp::datasets
