#include "dist/pattern.h"

#include <algorithm>

#include <ATen/core/grad_mode.h>
#include <ATen/ops/from_blob.h>

namespace ddp::dist {
namespace {

// More values distinguish more indices; a table of this size fits into the cache.
constexpr int kMostValues = 4093;
// The distance between the values of neighbouring ranks.
constexpr int kStride = 7;
constexpr std::int64_t kChunk = 1 << 18;

// Returns the greatest integer up to which all integers are exact.
std::int64_t greatest_exact(at::ScalarType dtype) {
  switch (dtype) {
    case at::kChar:
      return 127;
    case at::kByte:
      return 255;
    case at::kBFloat16:
      return 1 << 8;
    case at::kHalf:
      return 1 << 11;
    default:
      return 1 << 24;
  }
}

// Returns the class of an index. Neighbouring indices have different classes, and the sequence has no period.
std::size_t class_of(std::int64_t index, int classes) {
  const std::uint64_t mixed = static_cast<std::uint64_t>(index) * 0x9E3779B97F4A7C15u;
  return static_cast<std::size_t>(((mixed >> 32) * static_cast<std::uint64_t>(classes)) >> 32);
}

// Calls body(first index, length) for each piece of a tensor in order.
template <class Body>
void for_pieces(std::int64_t size, const Body& body) {
  for (std::int64_t first = 0; first < size; first += kChunk) body(first, std::min(kChunk, size - first));
}

}  // namespace

Pattern::Pattern(at::ScalarType dtype, int terms) : terms_(terms) {
  // The value values_ itself remains for spoil().
  const std::int64_t most = greatest_exact(dtype);
  values_ = static_cast<int>(std::clamp<std::int64_t>(most / terms, 2, kMostValues));
  summed_ranks_ = static_cast<int>(most / (values_ - 1));
}

Pattern::Table Pattern::values_of(int rank) const {
  Table table(static_cast<std::size_t>(values_), 0.0);
  if (terms_ > 1 && rank >= summed_ranks_) return table;
  for (int c = 0; c < values_; ++c) table[c] = (c + static_cast<std::int64_t>(kStride) * rank) % values_;
  return table;
}

void Pattern::fill(at::Tensor tensor, int rank) const {
  const at::NoGradGuard no_grad;
  const Table table = values_of(rank);
  std::vector<double> piece(static_cast<std::size_t>(std::min(kChunk, tensor.numel())));
  for_pieces(tensor.numel(), [&](std::int64_t first, std::int64_t length) {
    for (std::int64_t i = 0; i < length; ++i) piece[i] = table[class_of(first + i, values_)];
    tensor.narrow(0, first, length).copy_(at::from_blob(piece.data(), {length}, at::kDouble));
  });
}

void Pattern::spoil(at::Tensor tensor) const {
  const at::NoGradGuard no_grad;
  tensor.fill_(values_);
}

Mismatch Pattern::compare(const at::Tensor& tensor, int rank) const { return compare(tensor, values_of(rank)); }

Mismatch Pattern::compare_sum(const at::Tensor& tensor) const {
  Table sum(static_cast<std::size_t>(values_), 0.0);
  for (int r = 0; r < terms_; ++r) {
    const Table one = values_of(r);
    for (int c = 0; c < values_; ++c) sum[c] += one[c];
  }
  return compare(tensor, sum);
}

Mismatch Pattern::compare(const at::Tensor& tensor, const Table& table) const {
  const at::NoGradGuard no_grad;
  Mismatch found;
  for_pieces(tensor.numel(), [&](std::int64_t first, std::int64_t length) {
    const at::Tensor piece = tensor.narrow(0, first, length).to(at::kCPU, at::kDouble).contiguous();
    const double* values = piece.const_data_ptr<double>();
    for (std::int64_t i = 0; i < length; ++i) {
      const double expected = table[class_of(first + i, values_)];
      if (values[i] == expected) continue;
      if (found.count++ == 0) found = {.count = 1, .index = first + i, .expected = expected, .got = values[i]};
    }
  });
  return found;
}

}  // namespace ddp::dist
