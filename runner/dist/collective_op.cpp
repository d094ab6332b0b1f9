#include "dist/collective_op.h"

#include <algorithm>
#include <map>
#include <vector>

#include <ATen/core/grad_mode.h>
#include <ATen/ops/empty.h>
#include <torch/csrc/distributed/c10d/ProcessGroup.hpp>

#include "base/error.h"

namespace ddp::dist {
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
