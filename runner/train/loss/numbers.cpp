#include "train/loss/numbers.h"

#include "base/error.h"

namespace ddp::train {

namespace {

std::string remedy_for_shapes(const at::Tensor& output, const at::Tensor& target) {
  const bool is_column = output.dim() == target.dim() + 1 && output.size(-1) == 1;
  if (is_column) return "give the targets a last extent of 1, as y.reshape(-1, 1) in NumPy";
  if (output.dim() == 2 && target.dim() == 2) {
    return "give the model out_features = " + std::to_string(target.size(1)) + ", or change the targets";
  }
  return "change the model's output or the dataset's targets";
}

}  // namespace

void check_numbers(const std::string& name, const at::Tensor& output, const at::Tensor& target) {
  if (!target.is_floating_point()) {
    throw usage_error(name + " needs targets that are numbers; this dataset has class indices", "loss",
                      "use loss = \"cross_entropy\"; if they are counts or amounts, store them as float32");
  }
  if (output.sizes() != target.sizes()) {
    throw usage_error("the model gives values of shape " + c10::str(output.sizes()) + " for targets of shape " +
                          c10::str(target.sizes()),
                      "loss", name + " needs them equal: " + remedy_for_shapes(output, target));
  }
}

}  // namespace ddp::train
