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

namespace {

using Work = c10::intrusive_ptr<c10d::Work>;
using Tensors = std::vector<at::Tensor>;

void clear(at::Tensor tensor) {
  const at::NoGradGuard no_grad;
  tensor.zero_();
}

// A sum in place on every rank; the result is valid on all ranks or only on the root.
class Sum : public CollectiveOp {
 public:
  Sum(const Group& group, at::ScalarType dtype, c10::Device device, std::int64_t elements)
      : CollectiveOp(group, dtype, device, elements), pattern_(dtype, world_size_), tensors_{empty(elements)} {}

  void prepare() override { pattern_.fill(tensors_[0], rank_); }
  void calm() override { clear(tensors_[0]); }

 protected:
  const Pattern pattern_;
  Tensors tensors_;
};

class AllReduce : public Sum {
 public:
  using Sum::Sum;
  Work start() override { return group_->allreduce(tensors_); }
  Mismatch check() const override { return pattern_.compare_sum(tensors_[0]); }
  double bus_factor() const override { return 2 * parts_of_others(); }
};

class Reduce : public Sum {
 public:
  using Sum::Sum;
  Work start() override { return group_->reduce(tensors_); }
  Mismatch check() const override { return is_root() ? pattern_.compare_sum(tensors_[0]) : Mismatch(); }
  double bus_factor() const override { return 1; }
};

class Broadcast : public CollectiveOp {
 public:
  Broadcast(const Group& group, at::ScalarType dtype, c10::Device device, std::int64_t elements)
      : CollectiveOp(group, dtype, device, elements), pattern_(dtype, 1), tensors_{empty(elements)} {}

  void prepare() override { is_root() ? pattern_.fill(tensors_[0], 0) : pattern_.spoil(tensors_[0]); }
  Work start() override { return group_->broadcast(tensors_); }
  Mismatch check() const override { return pattern_.compare(tensors_[0], 0); }
  double bus_factor() const override { return 1; }

 private:
  const Pattern pattern_;
  Tensors tensors_;
};

// A collective with one part on each rank and, if `has_whole`, a tensor with the parts of all ranks.
class Divided : public CollectiveOp {
 public:
  Divided(const Group& group, at::ScalarType dtype, c10::Device device, std::int64_t elements, bool has_whole)
      : CollectiveOp(group, dtype, device, elements), pattern_(dtype, 1), part_{empty(elements / world_size_)} {
    if (!has_whole) return;
    whole_ = empty(elements);
    const at::NoGradGuard no_grad;
    for (int r = 0; r < world_size_; ++r) parts_.push_back(whole_.narrow(0, r * part_[0].numel(), part_[0].numel()));
  }
  double bus_factor() const override { return parts_of_others(); }

 protected:
  Mismatch check_parts() const {
    Mismatch all;
    for (int r = 0; r < static_cast<int>(parts_.size()); ++r) {
      Mismatch one = pattern_.compare(parts_[r], r);
      if (one.count == 0) continue;
      one.index += r * part_[0].numel();
      one.count += all.count;
      if (all.count > 0) {
        all.count = one.count;
      } else {
        all = one;
      }
    }
    return all;
  }
  // Returns the list of parts, or an empty list, as c10d expects.
  std::vector<Tensors> lists() const { return parts_.empty() ? std::vector<Tensors>{} : std::vector<Tensors>{parts_}; }

  const Pattern pattern_;
  at::Tensor whole_;
  Tensors parts_;  // of whole_
  Tensors part_;   // one tensor
};

class Scatter : public Divided {
 public:
  Scatter(const Group& group, at::ScalarType dtype, c10::Device device, std::int64_t elements)
      : Divided(group, dtype, device, elements, group->getRank() == 0), inputs_(lists()) {}

  void prepare() override {
    for (int r = 0; r < static_cast<int>(parts_.size()); ++r) pattern_.fill(parts_[r], r);
    pattern_.spoil(part_[0]);
  }
  Work start() override { return group_->scatter(part_, inputs_); }
  Mismatch check() const override { return pattern_.compare(part_[0], rank_); }

 private:
  std::vector<Tensors> inputs_;
};

class Gather : public Divided {
 public:
  Gather(const Group& group, at::ScalarType dtype, c10::Device device, std::int64_t elements)
      : Divided(group, dtype, device, elements, group->getRank() == 0), outputs_(lists()) {}

  void prepare() override {
    pattern_.fill(part_[0], rank_);
    if (is_root()) pattern_.spoil(whole_);
  }
  Work start() override { return group_->gather(outputs_, part_); }
  Mismatch check() const override { return check_parts(); }

 private:
  std::vector<Tensors> outputs_;
};

class AllGather : public Divided {
 public:
  AllGather(const Group& group, at::ScalarType dtype, c10::Device device, std::int64_t elements)
      : Divided(group, dtype, device, elements, true) {}

  void prepare() override {
    pattern_.fill(part_[0], rank_);
    pattern_.spoil(whole_);
  }
  Work start() override { return group_->_allgather_base(whole_, part_[0]); }
  Mismatch check() const override { return check_parts(); }
};

template <class Op>
std::unique_ptr<CollectiveOp> make(const Group& group, at::ScalarType dtype, c10::Device device,
                                   std::int64_t elements) {
  return std::make_unique<Op>(group, dtype, device, elements);
}

struct Kind {
  decltype(&make<AllReduce>) make;
  bool divided;  // the tensor is divided over the ranks
};

const std::map<std::string, Kind>& kinds() {
  static const std::map<std::string, Kind> kinds{
      {"all_reduce", {make<AllReduce>, false}}, {"reduce", {make<Reduce>, false}},
      {"broadcast", {make<Broadcast>, false}},  {"scatter", {make<Scatter>, true}},
      {"gather", {make<Gather>, true}},         {"all_gather", {make<AllGather>, true}},
  };
  return kinds;
}

}  // namespace

CollectiveOp::CollectiveOp(const Group& group, at::ScalarType dtype, c10::Device device, std::int64_t elements)
    : group_(group),
      rank_(group->getRank()),
      world_size_(group->getSize()),
      dtype_(dtype),
      device_(device),
      elements_(elements) {}

std::int64_t CollectiveOp::bytes() const { return elements_ * static_cast<std::int64_t>(c10::elementSize(dtype_)); }

at::Tensor CollectiveOp::empty(std::int64_t elements) const {
  return at::empty({elements}, at::TensorOptions().dtype(dtype_).device(device_));
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

std::unique_ptr<CollectiveOp> make_collective_op(const std::string& name, std::int64_t bytes, at::ScalarType dtype,
                                                 c10::Device device, const Group& group) {
  const auto kind = kinds().find(name);
  if (kind == kinds().end()) throw usage_error("there is no collective \"" + name + "\"");
  const std::int64_t parts = kind->second.divided ? group->getSize() : 1;
  const std::int64_t of_part = bytes / static_cast<std::int64_t>(c10::elementSize(dtype)) / parts;
  return kind->second.make(group, dtype, device, std::max<std::int64_t>(1, of_part) * parts);
}

}  // namespace ddp::dist
