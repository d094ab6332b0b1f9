#include "train/loss/numbers.h"

#include <utility>

#include <ATen/ops/aminmax.h>
#include <c10/util/StringUtil.h>

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

void require_floats(const std::string& name, const at::Tensor& target) {
  if (target.is_floating_point()) return;
  throw usage_error(name + " needs targets that are numbers; this dataset has class indices", "loss",
                    "use loss = \"cross_entropy\"; if they are counts or amounts, store them as float32");
}

}  // namespace

void check_numbers(const std::string& name, const at::Tensor& output, const at::Tensor& target) {
  require_floats(name, target);
  if (output.sizes() != target.sizes()) {
    throw usage_error("the model gives values of shape " + c10::str(output.sizes()) + " for targets of shape " +
                          c10::str(target.sizes()),
                      "loss", name + " needs them equal: " + remedy_for_shapes(output, target));
  }
}

void check_range(const std::string& name, const at::Tensor& targets, const TargetRange& range) {
  require_floats(name, targets);
  if (targets.numel() == 0) return;
  const auto [least, most] = at::aminmax(targets);  // NaN if one of them is NaN
  if (least.item<double>() >= range.least && most.item<double>() <= range.most) return;
  const at::Tensor bad = targets.ge(range.least).logical_and(targets.le(range.most)).logical_not();
  throw usage_error("a target is " + c10::str(targets.masked_select(bad)[0].item<double>()) + ", and " + name +
                        " takes " + range.in_words,
                    "loss", range.remedy);
}

Loss loss_of_numbers(const std::string& name, LossFunction mean) {
  return Loss(LossParts{.mean =
                            [name, mean = std::move(mean)](const at::Tensor& output, const at::Tensor& target) {
                              check_numbers(name, output, target);
                              return mean(output, target);
                            },
                        .check_targets = [name](const at::Tensor&, const at::Tensor&) -> CheckTargets {
                          return [name](const at::Tensor& targets) { check_range(name, targets, {}); };
                        }});
}

}  // namespace ddp::train
