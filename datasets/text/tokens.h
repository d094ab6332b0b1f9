#pragma once

#include <cstdint>
#include <vector>

#include <ATen/core/Tensor.h>

namespace ddp::datasets {

// Tokens in memory or in mapped files, one behind the other, as whole numbers of any width.
class Tokens {
 public:
  Tokens() = default;
  // `pieces`: contiguous [n] of uint8, int16, uint16, int32, uint32 or int64.
  explicit Tokens(std::vector<at::Tensor> pieces);

  std::int64_t size() const { return size_; }
  // The tokens begin to begin + count - 1 alone, in the same memory.
  Tokens part(std::int64_t begin, std::int64_t count) const;
  // Writes those tokens to `out` as int64.
  void copy(std::int64_t begin, std::int64_t count, std::int64_t* out) const;
  // Returns the greatest token. Reads all of them. Throws ddp::Error (usage) where one is negative or
  // larger than any vocabulary, with its place.
  std::int64_t greatest() const;
  // Returns the tokens as one tensor: the memory itself where they lie in one piece.
  at::Tensor whole() const;

 private:
  std::vector<at::Tensor> pieces_;
  std::vector<std::int64_t> begins_;  // of each piece
  std::int64_t size_ = 0;
};

}  // namespace ddp::datasets
