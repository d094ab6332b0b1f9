#pragma once

#include <cstdint>
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
  // `name`: all_reduce (a sum), reduce, broadcast, scatter, gather or all_gather. `bytes` is rounded down to whole
  // elements, divisible by the world size if the collective needs it, but at least one element for each part. Throws
  // ddp::Error (usage).
  CollectiveOp(const std::string& name, std::int64_t bytes, at::ScalarType dtype, c10::Device device,
               const Group& group);

  // Fills inputs with values that depend on rank and index, and fills outputs with a value that cannot occur.
  void prepare();
  // Starts one call. The call is complete when the work is.
  c10::intrusive_ptr<c10d::Work> start();
  // Returns this rank's wrong values after prepare() and one call.
  Mismatch check() const;
  // Zeroes the tensors if repeated calls would otherwise sum up to ever larger values.
  void calm();

  // The size of the largest tensor of a rank, as in nccl-tests.
  std::int64_t elements() const { return elements_; }
  std::int64_t bytes() const;
  // Bus bandwidth is bytes / time * bus_factor(): the minimum share of the data that each rank's link carries
  // (nccl-tests, doc/PERFORMANCE.md; for scatter and gather its src/scatter.cu).
  double bus_factor() const;

 private:
  enum class Kind { all_reduce, reduce, broadcast, scatter, gather, all_gather };
  static Kind kind_of(const std::string& name);
  bool sums() const { return kind_ == Kind::all_reduce || kind_ == Kind::reduce; }
  bool divides() const { return kind_ >= Kind::scatter; }
  Mismatch check_parts() const;

  const Group group_;
  const Kind kind_;
  const int rank_;
  const int world_size_;
  const at::ScalarType dtype_;
  const Pattern pattern_;
  std::int64_t elements_ = 0;
  // As c10d takes them. A collective that divides has one part on each rank, and the whole on the root or on all ranks.
  std::vector<at::Tensor> part_;
  std::vector<at::Tensor> whole_;
  std::vector<std::vector<at::Tensor>> parts_;  // one list, of the whole's parts; empty without a whole
};

// Returns the element type of a name on the command line, such as "float". Throws ddp::Error (usage).
at::ScalarType element_type(const std::string& name);

}  // namespace ddp::dist
