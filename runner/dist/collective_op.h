#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include <ATen/core/Tensor.h>
#include <c10/core/Device.h>
#include <c10/util/intrusive_ptr.h>

#include "dist/collectives.h"

namespace c10d {
class Work;
}

namespace ddp::dist {

// Values that differ from the expected ones.
struct Mismatch {
  std::int64_t count = 0;
  // The first one.
  std::int64_t index = 0;
  double expected = 0;
  double got = 0;
};

// Integers that depend on rank and index, to detect a value of a wrong rank or index. They are so small that the
// element type holds each of them, and their sum over the ranks in any order, exactly.
class Pattern {
 public:
  // `terms`: the number of ranks in a sum; 1 if values are only moved.
  Pattern(at::ScalarType dtype, int terms);

  // Writes the rank's values to the tensor, which has one dimension and is on any device.
  void fill(at::Tensor tensor, int rank) const;
  // Fills the tensor with a value that no rank has.
  void spoil(at::Tensor tensor) const;

  // Compare a tensor with the values of a rank, or with the sum of all ranks' values.
  Mismatch compare(const at::Tensor& tensor, int rank) const;
  Mismatch compare_sum(const at::Tensor& tensor) const;

 private:
  // The value of each class of indices.
  using Table = std::vector<double>;
  Table values_of(int rank) const;
  Mismatch compare(const at::Tensor& tensor, const Table& table) const;

  int terms_;
  int values_;        // values are 0 to values_ - 1
  int summed_ranks_;  // in a sum, ranks from this one on have zeros
};

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
