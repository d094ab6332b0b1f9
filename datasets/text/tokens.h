#pragma once

#include <cstdint>
#include <vector>

#include <ATen/core/Tensor.h>

namespace ddp::datasets {

// A sequence of tokens in memory or in mapped files, as integers of any width.
class Tokens {
 public:
  Tokens() = default;
  // `pieces`: contiguous [n] of uint8, int16, uint16, int32, uint32 or int64.
  explicit Tokens(std::vector<at::Tensor> pieces);

  std::int64_t size() const { return size_; }
  // Returns the tokens from `begin` up to begin + count - 1, in the same memory.
  Tokens part(std::int64_t begin, std::int64_t count) const;
  // Writes the tokens from `begin` up to begin + count - 1 to `out`, as int64.
  void copy(std::int64_t begin, std::int64_t count, std::int64_t* out) const;
  // Returns the greatest token; reads all of them. Throws ddp::Error (usage), which names the place, if a token is
  // negative or larger than any vocabulary.
  std::int64_t greatest() const;
  // Returns the tokens as one tensor; a single piece is not copied.
  at::Tensor whole() const;

 private:
  std::vector<at::Tensor> pieces_;
  std::vector<std::int64_t> begins_;  // of each piece
  std::int64_t size_ = 0;
};

}  // namespace ddp::datasets
