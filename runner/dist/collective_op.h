#pragma once

#include <memory>
#include <string>

#include <ATen/core/Tensor.h>
#include <c10/core/Device.h>
#include <c10/util/intrusive_ptr.h>

#include "dist/collectives.h"
#include "dist/pattern.h"

namespace c10d {
class Work;
}

namespace ddp::dist {

// One collective of one size over a group: its tensors on this rank, and what is in them afterwards. The root, where
// there is one, is rank 0. All ranks do the same with theirs.
class CollectiveOp {
 public:
  virtual ~CollectiveOp() = default;

  // Puts values in that tell which rank and place they come from, and where others must come, ones that cannot.
  virtual void prepare() = 0;
  // Starts it once; done when the work is.
  virtual c10::intrusive_ptr<c10d::Work> start() = 0;
  // After prepare() and one call: this rank's values that are not what they must be.
  virtual Mismatch check() const = 0;
  // Puts zeros in where calls one after the other would add up without end.
  virtual void calm() {}

  // As nccl-tests counts: of the greatest tensor that a rank has in it.
  std::int64_t elements() const { return elements_; }
  std::int64_t bytes() const;
  // Bus bandwidth is bytes / time times this: how much of the data each rank's link must carry at least
  // (nccl-tests, doc/PERFORMANCE.md; for scatter and gather its src/scatter.cu).
  virtual double bus_factor() const = 0;

 protected:
  CollectiveOp(const Group& group, at::ScalarType dtype, c10::Device device, std::int64_t elements);
  at::Tensor empty(std::int64_t elements) const;
  bool is_root() const { return rank_ == 0; }
  double parts_of_others() const { return static_cast<double>(world_size_ - 1) / world_size_; }

  const Group group_;
  const int rank_;
  const int world_size_;
  const at::ScalarType dtype_;
  const c10::Device device_;
  const std::int64_t elements_;
};

// What an element type is called on the command line: "float". Throws ddp::Error (usage).
at::ScalarType element_type(const std::string& name);

// The collective of that name: all_reduce (a sum), reduce, broadcast, scatter, gather or all_gather. `bytes`: rounded
// down to what divides over the ranks where it must, but to no less than an element of each. Throws ddp::Error (usage).
std::unique_ptr<CollectiveOp> make_collective_op(const std::string& name, std::int64_t bytes, at::ScalarType dtype,
                                                 c10::Device device, const Group& group);

}  // namespace ddp::dist
