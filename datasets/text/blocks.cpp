#include "datasets/text/blocks.h"

#include <utility>

#include <ATen/ops/empty.h>

#include "base/error.h"
#include "datasets/draws.h"
#include "datasets/text/preview.h"

namespace ddp::datasets {
namespace {

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

// A dataset whose tokens other roles can share.
class TokenReader {
 public:
  virtual ~TokenReader() = default;
  virtual const TokenData& read() const = 0;
};

// The common part of both kinds of sampling. Base: MapDataset or PlacedDataset.
template <class Base>
class OfTokens : public Base, public TokenReader {
 public:
  OfTokens(TokenData data, Tokens part, std::int64_t block_size)
      : data_(std::move(data)), tokens_(std::move(part)), block_size_(block_size) {}

  const TokenData& read() const override { return data_; }

  config::Value preprocessing() const override { return data_.preprocessing; }

  config::Value facts() const override {
    const std::int64_t vocab_size = data_.vocab_size();
    return {{"vocab_size", vocab_size},
            {"num_classes", vocab_size},
            {"block_size", block_size_},
            {"tokens", tokens_.size()}};
  }

  config::Value describe() const override {
    config::Value description = {{"tokens", tokens_.size()}, {"block_size", block_size_}};
    if (!tokenizer().is_object()) return description;
    description["tokenizer"] = tokenizer().at("name");
    description["vocab_size"] = data_.vocab_size();
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
  // Returns a batch of the blocks that begin at begin_of(0), begin_of(1), ….
  template <class BeginOf>
  Batch blocks(std::int64_t count, BeginOf begin_of) const {
    at::Tensor inputs = at::empty({count, block_size_}, at::kLong);
    at::Tensor targets = at::empty({count, block_size_}, at::kLong);
    auto* input = inputs.mutable_data_ptr<std::int64_t>();
    auto* target = targets.mutable_data_ptr<std::int64_t>();
    for (std::int64_t i = 0; i < count; ++i, input += block_size_, target += block_size_) {
      const std::int64_t begin = begin_of(i);
      tokens_.copy(begin, block_size_, input);
      tokens_.copy(begin + 1, block_size_, target);
    }
    return {inputs, targets};
  }

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
  using OfTokens::OfTokens;

  std::int64_t size() const override { return (tokens_.size() - 1) / block_size_; }
  bool in_memory() const override { return true; }
  Batch gather(const at::Tensor& indices, std::int64_t) const override {
    const auto* index = indices.const_data_ptr<std::int64_t>();
    return blocks(indices.size(0), [&](std::int64_t i) { return index[i] * block_size_; });
  }
};

class TokenOffsets final : public OfTokens<PlacedDataset> {
 public:
  TokenOffsets(TokenData data, Tokens part, std::int64_t block_size, std::uint64_t seed)
      : OfTokens(std::move(data), std::move(part), block_size), seed_(seed) {}

  Batch draw(std::int64_t batch_size, const MicroBatchPosition& place) const override {
    const auto offsets = static_cast<std::uint64_t>(tokens_.size() - block_size_);
    return blocks(batch_size, [&](std::int64_t sample) {
      return static_cast<std::int64_t>(Draws(seed_, place, sample).below(offsets));
    });
  }

 private:
  const std::uint64_t seed_;
};

}  // namespace

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

TokenRange range_of_role(std::int64_t count, const Context& context) {
  const auto place = [&](double share) { return static_cast<std::int64_t>(static_cast<double>(count) * share); };
  const double v = context.validation_share;
  const double t = context.test_share;
  const std::int64_t trained = place(1 - v - t);
  const std::int64_t validated = place(1 - t);
  if (context.role == Role::train) return {.begin = 0, .count = trained};
  const bool own = (context.role == Role::validation ? v : t) == 0;
  if (own) return {.begin = 0, .count = count};
  if (context.role == Role::validation) return {.begin = trained, .count = validated - trained};
  return {.begin = validated, .count = count - validated};
}

std::unique_ptr<Dataset> make_samples(TokenData data, Tokens part, const BlockOptions& options,
                                      const Context& context) {
  if (part.size() <= options.block_size) throw too_short(data, part.size(), options.block_size, context.role);
  if (options.sampling == kRandom && context.role == Role::train) {
    return std::make_unique<TokenOffsets>(std::move(data), std::move(part), options.block_size, context.seed);
  }
  return std::make_unique<TokenBlocks>(std::move(data), std::move(part), options.block_size);
}

std::unique_ptr<Dataset> make_samples_of_role(TokenData data, const BlockOptions& options, const Context& context) {
  const TokenRange range = range_of_role(data.tokens.size(), context);
  Tokens part = data.tokens.part(range.begin, range.count);
  return make_samples(std::move(data), std::move(part), options, context);
}

}  // namespace ddp::datasets
