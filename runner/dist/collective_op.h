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

// One collective of one size over a group, with its tensors on this rank and the check of their values. The root, if
// any, is rank 0. All ranks make the same calls.
class CollectiveOp {
 public:
  virtual ~CollectiveOp() = default;

  // Fills inputs with values that depend on rank and index, and fills outputs with a value that cannot occur.
  virtual void prepare() = 0;
  // Starts one call. The call is complete when the work is.
  virtual c10::intrusive_ptr<c10d::Work> start() = 0;
  // Returns this rank's wrong values after prepare() and one call.
  virtual Mismatch check() const = 0;
  // Zeroes the tensors if repeated calls would otherwise sum up to ever larger values.
  virtual void calm() {}

  // The size of the largest tensor of a rank, as in nccl-tests.
  std::int64_t elements() const { return elements_; }
  std::int64_t bytes() const;
  // Bus bandwidth is bytes / time * bus_factor(): the minimum share of the data that each rank's link carries
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

// Returns the element type of a name on the command line, such as "float". Throws ddp::Error (usage).
at::ScalarType element_type(const std::string& name);

// Makes a collective by name: all_reduce (a sum), reduce, broadcast, scatter, gather or all_gather. `bytes` is rounded
// down to whole elements, divisible by the world size if the collective needs it, but at least one element for each
// part. Throws ddp::Error (usage).
std::unique_ptr<CollectiveOp> make_collective_op(const std::string& name, std::int64_t bytes, at::ScalarType dtype,
                                                 c10::Device device, const Group& group);

}  // namespace ddp::dist
