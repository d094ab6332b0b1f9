#include "datasets/text/blocks.h"

#include <algorithm>
#include <cstdio>
#include <map>
#include <memory>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include <ATen/ops/cat.h>
#include <ATen/ops/empty.h>

#include "base/error.h"
#include "base/recent.h"
#include "datasets/draws.h"
#include "tokenize/tokenizer.h"

namespace ddp::datasets {
namespace {

// No vocabulary is larger. Larger numbers show that a file was read with the wrong dtype.
constexpr std::int64_t kGreatestToken = (1 << 24) - 1;

// Calls the function with a pointer to the stored numbers of a piece.
template <class Function>
void with_numbers(const at::Tensor& piece, Function function) {
  switch (piece.scalar_type()) {
    case at::kByte:
      return function(piece.const_data_ptr<std::uint8_t>());
    case at::kShort:
      return function(piece.const_data_ptr<std::int16_t>());
    case at::kUInt16:
      return function(piece.const_data_ptr<std::uint16_t>());
    case at::kInt:
      return function(piece.const_data_ptr<std::int32_t>());
    case at::kUInt32:
      return function(piece.const_data_ptr<std::uint32_t>());
    case at::kLong:
      return function(piece.const_data_ptr<std::int64_t>());
    default:
      throw usage_error("tokens cannot be of type " + std::string(c10::toString(piece.scalar_type())));
  }
}

// Reads `count` tokens of a piece that is in a file.
at::Tensor read(const Tokens::Piece& piece, std::int64_t begin, std::int64_t count) {
  at::Tensor numbers = at::empty({count}, piece.type);
  const auto width = static_cast<std::int64_t>(c10::elementSize(piece.type));
  piece.file->read((piece.begin + begin) * width, count * width, numbers.mutable_data_ptr());
  return numbers;
}

// Throws ddp::Error (usage) if a token is negative or larger than any vocabulary. `begin`: place of the first one.
std::int64_t greatest_of(const at::Tensor& tokens, std::int64_t begin) {
  std::int64_t greatest = 0;
  with_numbers(tokens, [&](const auto* numbers) {
    std::remove_cvref_t<decltype(*numbers)> least = 0;
    std::remove_cvref_t<decltype(*numbers)> most = 0;
    for (std::int64_t k = 0; k < tokens.size(0); ++k) {
      least = std::min(least, numbers[k]);
      most = std::max(most, numbers[k]);
    }
    greatest = static_cast<std::int64_t>(most);
    if (least >= 0 && greatest <= kGreatestToken) return;
    const auto* first = std::find_if(numbers, numbers + tokens.size(0), [](auto number) {
      return number < 0 || static_cast<std::int64_t>(number) > kGreatestToken;
    });
    throw usage_error("token " + std::to_string(begin + (first - numbers)) + " is " + std::to_string(*first), "dataset",
                      "tokens are between 0 and 16777215; check dataset.dtype, the type of the file's numbers");
  });
  return greatest;
}

Tokens part_of_role(const Tokens& all, const Context& context) {
  const std::int64_t count = all.size();
  const auto place = [&](double share) { return static_cast<std::int64_t>(static_cast<double>(count) * share); };
  const double v = context.validation_share;
  const double t = context.test_share;
  const std::int64_t trained = place(1 - v - t);
  const std::int64_t validated = place(1 - t);
  if (context.role == Role::train) return all.part(0, trained);
  if (context.role == Role::validation) return v == 0 ? all : all.part(trained, validated - trained);
  return t == 0 ? all : all.part(validated, count - validated);
}

constexpr const char* kBlocks = "blocks";
constexpr const char* kRandom = "random";
constexpr const char* kHeldTokens = "tokens";

const char* name_of_part(Role role) {
  return role == Role::train ? "training" : role == Role::validation ? "validation" : "test";
}

// Makes the error for a part that has too few tokens for one sample.
Error too_short(const TokenData& data, std::int64_t part, std::int64_t block_size, Role role) {
  const std::int64_t all = data.tokens.size();
  const std::string what = all == 0      ? "is empty"
                           : part == all ? "has " + std::to_string(all) + " tokens"
                                         : "its " + std::string(name_of_part(role)) + " part has " +
                                               std::to_string(part) + " of its " + std::to_string(all) + " tokens";
  std::string remedy;
  if (part > 1) remedy += "a dataset.block_size of at most " + std::to_string(part - 1) + ", ";
  if (part < all && role == Role::train) remedy += "a smaller split, ";
  if (part < all && role != Role::train) remedy += "a larger [" + std::string(name_of_part(role)) + "] split, ";
  return usage_error(what + ", but a sample needs " + std::to_string(block_size + 1) + " tokens (block_size " +
                         std::to_string(block_size) + " and the next token)",
                     data.name, "use " + remedy + (remedy.empty() ? "more text: dataset.path" : "or more text"));
}

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
    // Within a text: some tokenizers leave out a text's first blank.
    const std::int64_t twice[] = {id, id};
    const std::string text = tokenizer_->decode(twice).substr(tokenizer_->decode({&id, 1}).size());
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

// Describes tokens for Dataset::preview:
//   "blocks": the first tokens of the first samples, a list of {"id", "text"} each; "text" is null without a tokenizer
//   "block_left_out": the number of tokens of a block that are not shown
//   "frequent": the 20 most frequent tokens, {"id", "text", "count"}; "counted": the number of counted tokens
// `tokens`: the training part, of which at most ten million tokens are counted; `inputs`: int64 [samples, block_size];
// `tokenizer`: the tokenizer in preprocessing.json, or null.
Value preview_text(const Tokens& tokens, const at::Tensor& inputs, const Value& tokenizer) {
  const TokenTexts texts(tokenizer);
  const std::int64_t counted = std::min(kTokensCounted, tokens.size());
  return {{"blocks", blocks_of(inputs, texts)},
          {"block_left_out", inputs.size(1) - std::min(kTokensShown, inputs.size(1))},
          {"frequent", most_frequent(tokens, counted, texts)},
          {"counted", counted}};
}

// A dataset whose tokens other roles can share.
class TokenReader {
 public:
  virtual ~TokenReader() = default;
  virtual const TokenData& read() const = 0;
};

// The common part of both kinds of sampling. Base: MapDataset or DrawnDataset.
template <class Base>
class OfTokens : public Base, public TokenReader {
 public:
  OfTokens(TokenData data, Tokens part, std::int64_t block_size)
      : data_(std::move(data)), tokens_(std::move(part)), block_size_(block_size) {}

  const TokenData& read() const override { return data_; }

  config::Value preprocessing() const override { return data_.preprocessing; }

  std::vector<std::string> warnings() const override { return data_.warnings; }

  config::Value facts() const override {
    const std::int64_t vocab_size = data_.vocab_size();
    return {{"vocab_size", vocab_size},
            {"num_classes", vocab_size},
            {"block_size", block_size_},
            {"tokens", tokens_.size()}};
  }

  config::DatasetDescription describe() const override {
    config::DatasetDescription description{.tokens = tokens_.size(), .block_size = block_size_};
    if (!tokenizer().is_object()) return description;
    description.tokenizer = tokenizer().at("name").template get<std::string>();
    description.vocab_size = data_.vocab_size();
    return description;
  }

  config::Value preview(const at::Tensor&, const Batch& first) const override {
    return preview_text(tokens_, first.inputs.front().second, tokenizer());
  }

  NamedTensors held() const override {
    if (!data_.holds) return {};
    return {{kHeldTokens, tokens_.whole()}};
  }

 protected:
  // Tensors of a batch of blocks.
  struct Blocks {
    Blocks(std::int64_t count, std::int64_t size)
        : inputs(at::empty({count, size}, at::kLong)), targets(at::empty({count, size}, at::kLong)), block_size(size) {}
    // Copies block i, which begins at this token.
    void copy(std::int64_t i, const Tokens& tokens, std::int64_t begin) {
      tokens.copy(begin, block_size, inputs.mutable_data_ptr<std::int64_t>() + i * block_size);
      tokens.copy(begin + 1, block_size, targets.mutable_data_ptr<std::int64_t>() + i * block_size);
    }
    at::Tensor inputs, targets;
    const std::int64_t block_size;
  };

  // The tokenizer in preprocessing.json; null: the files contain tokens.
  config::Value tokenizer() const {
    return data_.preprocessing.is_object() ? data_.preprocessing.value("tokenizer", config::Value()) : config::Value();
  }

  const TokenData data_;
  const Tokens tokens_;  // the part of this dataset
  const std::int64_t block_size_;
};

class TokenBlocks final : public OfTokens<MapDataset> {
 public:
  // `window`: of a stream; 0: it is none.
  TokenBlocks(TokenData data, Tokens part, std::int64_t block_size, std::int64_t window)
      : OfTokens(std::move(data), std::move(part), block_size),
        streams_(window > 0),
        recent_(static_cast<std::size_t>(window) + 1) {}

  std::int64_t size() const override { return (tokens_.size() - 1) / block_size_; }
  bool in_memory() const override { return !streams_; }
  std::vector<std::int64_t> block_begins() const override {
    std::vector<std::int64_t> begins;
    for (std::int64_t i = 0; streams_ && i < size(); i += kWindows) begins.push_back(i);
    if (streams_) begins.push_back(size());
    return begins;
  }
  std::int64_t block_bytes() const override {
    const std::int64_t count = std::min(kWindows * block_size_ + 1, tokens_.size());
    return static_cast<std::int64_t>(tokens_.part(0, count).whole().nbytes());
  }
  Batch gather(const at::Tensor& indices, std::int64_t) const override {
    const auto* index = indices.const_data_ptr<std::int64_t>();
    Blocks blocks(indices.size(0), block_size_);
    std::map<std::int64_t, std::shared_ptr<const Tokens>> read;
    for (std::int64_t i = 0; i < indices.size(0); ++i) {
      if (!streams_) {
        blocks.copy(i, tokens_, index[i] * block_size_);
        continue;
      }
      std::shared_ptr<const Tokens>& windows = read[index[i] / kWindows];
      if (!windows) windows = recent_.get(index[i] / kWindows, [&](std::int64_t block) { return windows_of(block); });
      blocks.copy(i, *windows, index[i] % kWindows * block_size_);
    }
    return {blocks.inputs, blocks.targets};
  }

 private:
  static constexpr std::int64_t kWindows = 1024;  // samples of a block

  std::shared_ptr<const Tokens> windows_of(std::int64_t block) const {
    const std::int64_t begin = block * kWindows * block_size_;
    const std::int64_t count = std::min(kWindows * block_size_ + 1, tokens_.size() - begin);
    return std::make_shared<const Tokens>(tokens_.part(begin, count).whole());
  }

  const bool streams_;
  mutable Recent<std::int64_t, Tokens> recent_;
};

class TokenOffsets final : public OfTokens<DrawnDataset> {
 public:
  TokenOffsets(TokenData data, Tokens part, std::int64_t block_size, std::uint64_t seed)
      : OfTokens(std::move(data), std::move(part), block_size), seed_(seed) {}

  Batch draw(std::int64_t batch_size, const MicroBatchPosition& place) const override {
    const auto offsets = static_cast<std::uint64_t>(tokens_.size() - block_size_);
    Blocks blocks(batch_size, block_size_);
    for (std::int64_t i = 0; i < batch_size; ++i) {
      blocks.copy(i, tokens_, static_cast<std::int64_t>(Draws(seed_, place, i).below(offsets)));
    }
    return {blocks.inputs, blocks.targets};
  }

 private:
  const std::uint64_t seed_;
};

}  // namespace

Tokens::Tokens(std::vector<Piece> pieces) : pieces_(std::move(pieces)) {
  for (const Piece& piece : pieces_) {
    begins_.push_back(size_);
    size_ += piece.count;
  }
}

Tokens Tokens::part(std::int64_t begin, std::int64_t count) const {
  std::vector<Piece> pieces;
  for (std::size_t i = 0; i < pieces_.size(); ++i) {
    const std::int64_t first = std::max(begin, begins_[i]);
    const std::int64_t last = std::min(begin + count, begins_[i] + pieces_[i].count);
    if (first >= last) continue;
    Piece piece = pieces_[i];
    piece.begin += first - begins_[i];
    piece.count = last - first;
    if (piece.numbers.defined()) piece.numbers = piece.numbers.narrow(0, first - begins_[i], last - first);
    pieces.push_back(std::move(piece));
  }
  return Tokens(std::move(pieces));
}

void Tokens::copy(std::int64_t begin, std::int64_t count, std::int64_t* out) const {
  auto i = static_cast<std::size_t>(std::upper_bound(begins_.begin(), begins_.end(), begin) - begins_.begin()) - 1;
  while (count > 0) {
    const Piece& piece = pieces_[i];
    std::int64_t inside = begin - begins_[i];
    const std::int64_t some = std::min(count, piece.count - inside);
    at::Tensor numbers = piece.numbers;
    if (!numbers.defined()) {
      numbers = read(piece, inside, some);
      inside = 0;
    }
    with_numbers(numbers, [&](const auto* first) { std::copy_n(first + inside, some, out); });
    begin += some;
    out += some;
    count -= some;
    ++i;
  }
}

std::int64_t Tokens::greatest() const {
  constexpr std::int64_t kReadAtOnce = 1 << 20;
  std::int64_t greatest = 0;
  for (std::size_t i = 0; i < pieces_.size(); ++i) {
    const Piece& piece = pieces_[i];
    const std::int64_t at_once = piece.numbers.defined() ? piece.count : kReadAtOnce;
    for (std::int64_t begin = 0; begin < piece.count; begin += at_once) {
      const std::int64_t some = std::min(at_once, piece.count - begin);
      const at::Tensor numbers = piece.numbers.defined() ? piece.numbers : read(piece, begin, some);
      greatest = std::max(greatest, greatest_of(numbers, begins_[i] + begin));
    }
  }
  return greatest;
}

at::Tensor Tokens::whole() const {
  std::vector<at::Tensor> numbers;
  for (const Piece& piece : pieces_) {
    numbers.push_back(piece.numbers.defined() ? piece.numbers : read(piece, 0, piece.count));
  }
  if (numbers.empty()) return at::empty({0}, at::kLong);
  return numbers.size() == 1 ? numbers.front() : at::cat(numbers);
}

void BlockOptions::fields(config::Fields& f) {
  f({.name = "block_size", .doc = "tokens of a sample", .range = config::between(1, 1 << 30), .required = true},
    block_size);
  f({.name = "sampling",
     .doc = "begin of the samples: \"blocks\" one after the other, \"random\" anywhere, without epochs",
     .choices = {kBlocks, kRandom}},
    sampling);
}

config::Value block_traits() {
  return {{"loss", "cross_entropy"}, {"splits_itself", true}, {"endless", {{"sampling", kRandom}}}};
}

const TokenData* tokens_of_training(const Context& context) {
  const auto* reader = dynamic_cast<const TokenReader*>(context.trained.get());
  return reader == nullptr ? nullptr : &reader->read();
}

std::unique_ptr<Dataset> make_samples(TokenData data, const BlockOptions& options, const Context& context) {
  Tokens part = context.held.empty() ? part_of_role(data.tokens, context) : data.tokens;
  if (part.size() <= options.block_size) throw too_short(data, part.size(), options.block_size, context.role);
  if (options.sampling == kRandom && context.role == Role::train) {
    return std::make_unique<TokenOffsets>(std::move(data), std::move(part), options.block_size, context.seed);
  }
  return std::make_unique<TokenBlocks>(std::move(data), std::move(part), options.block_size, context.window);
}

}  // namespace ddp::datasets
