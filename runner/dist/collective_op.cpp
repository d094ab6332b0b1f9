#include "dist/collective_op.h"

#include <algorithm>
#include <map>
#include <vector>

#include <ATen/core/grad_mode.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/from_blob.h>
#include <torch/csrc/distributed/c10d/ProcessGroup.hpp>

#include "base/error.h"

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

CollectiveOp::Kind CollectiveOp::kind_of(const std::string& name) {
  static const std::map<std::string, Kind> kinds{
      {"all_reduce", Kind::all_reduce}, {"reduce", Kind::reduce}, {"broadcast", Kind::broadcast},
      {"scatter", Kind::scatter},       {"gather", Kind::gather}, {"all_gather", Kind::all_gather},
  };
  const auto found = kinds.find(name);
  if (found == kinds.end()) throw usage_error("there is no collective \"" + name + "\"");
  return found->second;
}

CollectiveOp::CollectiveOp(const std::string& name, std::int64_t bytes, at::ScalarType dtype, c10::Device device,
                           const Group& group)
    : group_(group),
      kind_(kind_of(name)),
      rank_(group->getRank()),
      world_size_(group->getSize()),
      dtype_(dtype),
      pattern_(dtype, sums() ? world_size_ : 1) {
  const at::NoGradGuard no_grad;
  const std::int64_t parts = divides() ? world_size_ : 1;
  const std::int64_t of_part =
      std::max<std::int64_t>(1, bytes / static_cast<std::int64_t>(c10::elementSize(dtype)) / parts);
  elements_ = of_part * parts;
  const auto options = at::TensorOptions().dtype(dtype).device(device);
  if (divides()) part_ = {at::empty({of_part}, options)};
  const bool has_whole = rank_ == 0 || !divides() || kind_ == Kind::all_gather;
  if (!has_whole) return;
  whole_ = {at::empty({elements_}, options)};
  auto& list = parts_.emplace_back();
  for (std::int64_t p = 0; p < parts; ++p) list.push_back(whole_[0].narrow(0, p * of_part, of_part));
}

void CollectiveOp::prepare() {
  switch (kind_) {
    case Kind::all_reduce:
    case Kind::reduce:
      return pattern_.fill(whole_[0], rank_);
    case Kind::broadcast:
      return rank_ == 0 ? pattern_.fill(whole_[0], 0) : pattern_.spoil(whole_[0]);
    case Kind::scatter:
      for (int r = 0; rank_ == 0 && r < world_size_; ++r) pattern_.fill(parts_[0][r], r);
      return pattern_.spoil(part_[0]);
    case Kind::gather:
    case Kind::all_gather:
      pattern_.fill(part_[0], rank_);
      if (!whole_.empty()) pattern_.spoil(whole_[0]);
  }
}

c10::intrusive_ptr<c10d::Work> CollectiveOp::start() {
  switch (kind_) {
    case Kind::all_reduce:
      return group_->allreduce(whole_);
    case Kind::reduce:
      return group_->reduce(whole_);
    case Kind::broadcast:
      return group_->broadcast(whole_);
    case Kind::scatter:
      return group_->scatter(part_, parts_);
    case Kind::gather:
      return group_->gather(parts_, part_);
    case Kind::all_gather:
      break;
  }
  return group_->_allgather_base(whole_[0], part_[0]);
}

Mismatch CollectiveOp::check() const {
  switch (kind_) {
    case Kind::all_reduce:
      return pattern_.compare_sum(whole_[0]);
    case Kind::reduce:
      return rank_ == 0 ? pattern_.compare_sum(whole_[0]) : Mismatch();
    case Kind::broadcast:
      return pattern_.compare(whole_[0], 0);
    case Kind::scatter:
      return pattern_.compare(part_[0], rank_);
    case Kind::gather:
    case Kind::all_gather:
      break;
  }
  return check_parts();
}

Mismatch CollectiveOp::check_parts() const {
  Mismatch all;
  for (int r = 0; !parts_.empty() && r < world_size_; ++r) {
    const Mismatch one = pattern_.compare(parts_[0][r], r);
    if (all.count == 0) all = {.index = one.index + r * part_[0].numel(), .expected = one.expected, .got = one.got};
    all.count += one.count;
  }
  return all;
}

void CollectiveOp::calm() {
  const at::NoGradGuard no_grad;
  if (sums()) whole_[0].zero_();
}

std::int64_t CollectiveOp::bytes() const { return elements_ * static_cast<std::int64_t>(c10::elementSize(dtype_)); }

double CollectiveOp::bus_factor() const {
  if (kind_ == Kind::reduce || kind_ == Kind::broadcast) return 1;
  const double of_others = static_cast<double>(world_size_ - 1) / world_size_;
  return kind_ == Kind::all_reduce ? 2 * of_others : of_others;
}

at::ScalarType element_type(const std::string& name) {
  static const std::map<std::string, at::ScalarType> types{
      {"float", at::kFloat}, {"double", at::kDouble}, {"half", at::kHalf}, {"bfloat16", at::kBFloat16},
      {"int8", at::kChar},   {"uint8", at::kByte},    {"int32", at::kInt}, {"int64", at::kLong},
  };
  const auto found = types.find(name);
  if (found == types.end()) throw usage_error("there is no element type \"" + name + "\"");
  return found->second;
}

}  // namespace ddp::dist
