#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include <ATen/core/Tensor.h>

#include "config/option/value.h"
#include "datasets/dataset.h"
#include "format/bytes.h"

namespace ddp::datasets {

// A sequence of tokens in memory, in mapped files, or in files, as integers of any width: uint8, int16, uint16, int32,
// uint32 or int64.
class Tokens {
 public:
  // Consecutive tokens.
  struct Piece {
    at::Tensor numbers = {};  // [count], contiguous; undefined: they are in the file
    std::shared_ptr<const format::Bytes> file = {};
    at::ScalarType type = at::kLong;  // in the file
    std::int64_t begin = 0;           // in the file
    std::int64_t count = 0;
  };

  Tokens() = default;
  explicit Tokens(const at::Tensor& numbers)
      : Tokens(std::vector{Piece{.numbers = numbers, .count = numbers.size(0)}}) {}
  explicit Tokens(std::vector<Piece> pieces);

  std::int64_t size() const { return size_; }
  // Returns the tokens from `begin` up to begin + count - 1, in the same memory or file.
  Tokens part(std::int64_t begin, std::int64_t count) const;
  // Writes the tokens from `begin` up to begin + count - 1 to `out`, as int64.
  void copy(std::int64_t begin, std::int64_t count, std::int64_t* out) const;
  // Returns the greatest token; reads all of them. Throws ddp::Error (usage), which names the place, if a token is
  // negative or larger than any vocabulary.
  std::int64_t greatest() const;
  // Returns the tokens as one tensor; a single piece in memory is not copied.
  at::Tensor whole() const;

 private:
  std::vector<Piece> pieces_;
  std::vector<std::int64_t> begins_;  // of each piece
  std::int64_t size_ = 0;
};

// The options that define the samples of a token dataset.
struct BlockOptions {
  std::int64_t block_size = 0;
  std::string sampling = "blocks";
  void fields(config::Fields& f);
};

// The traits of a token dataset: it holds out the end of its tokens, and random sampling has no epochs.
config::Value block_traits();

// Tokens that a dataset has read, and facts about them.
struct TokenData {
  Tokens tokens = {};                        // of all files, or of the held part
  std::function<std::int64_t()> vocab_size;  // called on demand, because it may read all tokens
  std::string name = {};                     // of the files, for people: "a.txt", "a.txt and 2 more"
  config::Value preprocessing = nullptr;     // see Dataset::preprocessing
  bool holds = false;                        // the tokens are in memory, for Dataset::held; false: in files
  std::vector<std::string> warnings = {};    // see Dataset::warnings
};

// Returns the tokens that the training dataset has read, if the context's role uses another part of them; null: the
// dataset reads its files.
const TokenData* tokens_of_training(const Context& context);

// Makes a dataset of the part of the tokens that belongs to the context's role; all of them if the context holds them,
// because only the part is held. With shares v and t for validation and test, the training part of n tokens ends at
// int(n * (1 - v - t)), the validation part at int(n * (1 - t)), and the rest is the test part, computed in double as
// in Python. A validation or test without a share has data of its own, and uses all of them. Inputs are int64
// [block_size], targets one token later. "blocks": sample i begins at token i * block_size, and the dataset has
// floor((n - 1) / block_size) samples. "random", for training: each sample begins anywhere in [0, n - block_size), as
// in nanoGPT's get_batch, drawn by Draws of seed, place and sample. Throws ddp::Error (usage) if the part has too few
// tokens for one sample.
std::unique_ptr<Dataset> make_samples(TokenData data, const BlockOptions& options, const Context& context);

}  // namespace ddp::datasets
