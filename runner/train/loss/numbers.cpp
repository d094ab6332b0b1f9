#include "train/loss/numbers.h"

#include "base/error.h"

namespace ddp::train {

void check_numbers(const std::string& name, const at::Tensor& output, const at::Tensor& target) {
  if (!target.is_floating_point()) {
    throw usage_error(name + " needs targets that are numbers; this dataset has class indices", "loss",
                      "use loss = \"cross_entropy\"");
  }
  if (output.sizes() != target.sizes()) {
    throw usage_error("the model gives values of shape " + c10::str(output.sizes()) + " for targets of shape " +
                          c10::str(target.sizes()),
                      "loss", name + " needs them equal: change the model's output or the dataset's targets");
  }
}

}  // namespace ddp::train
