#include "train/loss/classes.h"

#include <tuple>

#include <ATen/ops/aminmax.h>

#include "base/error.h"

namespace ddp::train {

void check_indices(const at::Tensor& target, std::int64_t classes, std::int64_t ignored) {
  const at::Tensor counted = target.masked_select(target.ne(ignored));
  if (counted.numel() == 0) return;
  const auto [least, most] = at::aminmax(counted);
  const auto low = least.item<std::int64_t>();
  const auto high = most.item<std::int64_t>();
  if (low >= 0 && high < classes) return;
  const std::string wrong = std::to_string(low < 0 ? low : high);
  throw usage_error("a target is class " + wrong + ", and the model gives " + std::to_string(classes) +
                        (classes == 1 ? " class" : " classes"),
                    "model",
                    "classes are counted from 0: give the model one output for each class, or set "
                    "loss.ignore_index of cross_entropy to ignore such targets");
}

void refuse_shapes(const at::Tensor& output, const at::Tensor& target, const std::string& needs) {
  throw usage_error("the model gives values of shape " + c10::str(output.sizes()) + " for targets of shape " +
                        c10::str(target.sizes()),
                    "loss",
                    output.dim() == 0
                        ? "the model returns one number, probably a loss of its own: return the outputs, for "
                          "the experiment has the loss"
                        : needs);
}

}  // namespace ddp::train
