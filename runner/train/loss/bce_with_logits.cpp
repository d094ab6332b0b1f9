#include <ATen/ops/binary_cross_entropy_with_logits.h>
#include <ATen/ops/tensor.h>

#include "base/error.h"
#include "train/loss/loss.h"

namespace ddp::train {
namespace {

struct BceOptions {
  config::Value pos_weight;  // one number, or one for each label; null: 1
  void fields(config::Fields& f) {
    f({.name = "pos_weight",
       .doc = "weight of the labels that are 1: a number, or a list with one for each label",
       .range = config::at_least(0),
       .types = {config::Type::number, config::Type::list},
       .item = config::Type::number},
      pos_weight);
  }
};

std::optional<at::Tensor> positive_weight(const config::Value& given) {
  if (given.is_null()) return {};
  const auto numbers = given.is_array() ? given.get<std::vector<double>>() : std::vector{given.get<double>()};
  return at::tensor(numbers, at::kFloat);
}

void check_bce(const at::Tensor& output, const at::Tensor& target, const std::optional<at::Tensor>& weight) {
  if (!target.is_floating_point()) {
    throw usage_error(
        "bce_with_logits needs targets that are numbers from 0 to 1; this dataset has integers of shape " +
            c10::str(target.sizes()) + " for outputs of shape " + c10::str(output.sizes()),
        "loss", "use loss = \"cross_entropy\" for class indices, or store labels as floats");
  }
  check_numbers("bce_with_logits", output, target);
  if (!weight || weight->numel() == 1) return;
  const std::int64_t labels = output.dim() > 0 ? output.size(-1) : 1;
  if (weight->numel() == labels) return;
  throw usage_error(
      "has " + std::to_string(weight->numel()) + " weights for outputs of shape " + c10::str(output.sizes()),
      "loss.pos_weight", "give one number, or " + std::to_string(labels) + ", one for each label");
}

void check_labels(const at::Tensor& targets) {
  check_range("bce_with_logits", targets,
              {.least = 0,
               .most = 1,
               .in_words = "numbers from 0 to 1",
               .remedy = "store labels as 0 and 1, or use loss = \"cross_entropy\" for class indices"});
}

// torch.nn.BCEWithLogitsLoss.
const bool bce_registered = losses().add<BceOptions>(
    "bce_with_logits", "binary cross-entropy of labels from 0 to 1, after a sigmoid",
    [](const BceOptions& o) {
      const auto reduced = [weight = positive_weight(o.pos_weight)](std::int64_t reduction) -> LossFunction {
        return [weight, reduction](const at::Tensor& output, const at::Tensor& target) {
          check_bce(output, target, weight);
          std::optional<at::Tensor> there;
          if (weight) there = weight->to(target.options());
          return at::binary_cross_entropy_with_logits(output, target, {}, there, reduction);
        };
      };
      return Loss(
          LossParts{.mean = reduced(at::Reduction::Mean),
                    .check_targets = [](const at::Tensor&, const at::Tensor&) -> CheckTargets { return check_labels; },
                    .each = reduced(at::Reduction::None)});
    },
    {{"outputs", "label_logits"}, {"aliases", {"bce", "binary_crossentropy"}}, {"same_calls", true}});

}  // namespace
}  // namespace ddp::train
