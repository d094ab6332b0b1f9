#pragma once

#include <string>
#include <utility>
#include <vector>

#include "graph/program.h"
#include "model/batch_sizes.h"

namespace ddp::graph {

// Checks the inputs of a batch against the shapes of the export.
class ShapeCheck {
 public:
  explicit ShapeCheck(const Program& program);

  // The size of a batch is the first extent of each input.
  model::BatchSizes batch_sizes() const;

  // Throws ddp::Error (usage) if the inputs do not fit. `trains`: they come from the training; otherwise from a file or
  // a prompt for the trained model.
  void require(const std::vector<at::Tensor>& given, bool trains);

 private:
  std::string same_inputs() const;
  const char* giver() const;
  void require(const Program::Input& input, const at::Tensor& given);
  // Returns "" if the shape fits.
  std::string remedy_for_shape(const Program::Input& input, const at::Tensor& given);
  bool fits_extent(const Program::Extent& extent, std::int64_t size);
  std::string remedy_for_type(const Program::Input& input) const;
  std::string remedy_for_extent(const Program::Input& input, std::size_t d, std::int64_t size) const;
  [[noreturn]] void refuse(const Program::Input& input, const at::Tensor& given, const std::string& remedy) const;

  const std::vector<Program::Input> inputs_;
  const std::string file_;
  const bool gives_number_;
  bool trains_ = true;
  std::vector<std::pair<const std::string*, std::int64_t>> symbols_;  // values in the current batch
};

}  // namespace ddp::graph
