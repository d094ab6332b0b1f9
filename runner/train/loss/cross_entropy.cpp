#include <ATen/ops/cross_entropy_loss.h>
#include <ATen/ops/ones_like.h>
#include <ATen/ops/tensor.h>
#include <c10/util/StringUtil.h>

#include "base/error.h"
#include "config/experiment.h"
#include "train/loss/classes.h"
#include "train/loss/loss.h"

namespace ddp::train {
namespace {

struct CrossEntropyOptions {
  double label_smoothing = 0;
  std::optional<std::int64_t> ignore_index;
  config::Value weight;  // of each class; null: 1; config::kBalanced until the data are known
  void fields(config::Fields& f) {
    f({.name = "label_smoothing",
       .doc = "share of the target spread over all classes",
       .aliases = {"smoothing"},
       .range = config::between(0, 1)},
      label_smoothing);
    f({.name = "ignore_index",
       .doc = "class that does not count; the loss of a step is then the mean over all other targets"},
      ignore_index);
    f({.name = "weight",
       .doc = "weights of the classes, one each; balanced: n / (classes * count) of the n training samples",
       .aliases = {"class_weight", "class_weights"},
       .range = config::at_least(0),
       .choices = {config::kBalanced},
       .types = {config::Type::list, config::Type::text},
       .item = config::Type::number},
      weight);
  }
};

[[noreturn]] void refuse_float_indices() {
  throw usage_error("the targets are float32; class indices must be integers", "loss",
                    "store labels as int64, or use loss = \"mse\" for numbers");
}

// Throws if these are no probabilities of classes, [n, classes, …]. They may be rounded, to 16 bits or two digits.
void check_probabilities(const at::Tensor& targets) {
  constexpr double kRounding = 0.0101;
  if (targets.dim() < 2) refuse_float_indices();
  check_range("cross_entropy", targets,
              {.least = 0,
               .most = 1 + kRounding,
               .in_words = "class indices, which are integers, or probabilities from 0 to 1",
               .remedy = "store one class index for each sample, or probabilities"});
  const at::Tensor sums = targets.sum(1);
  const at::Tensor wrong = sums.masked_select((sums - 1).abs().gt(kRounding));
  if (wrong.numel() == 0) return;
  throw usage_error("the probabilities of a target add up to " + c10::str(wrong[0].item<double>()) + ", not to 1",
                    "loss", "if several classes may be true at once, use loss = \"bce_with_logits\"");
}

// torch.nn.CrossEntropyLoss.
class CrossEntropy {
 public:
  explicit CrossEntropy(const CrossEntropyOptions& o)
      : smoothing_(o.label_smoothing),
        divides_(o.ignore_index.has_value()),
        ignored_(o.ignore_index.value_or(config::kIgnoredByDefault)) {
    if (!o.weight.empty() && o.weight.is_array()) weight_ = at::tensor(o.weight.get<std::vector<double>>(), at::kFloat);
  }

  at::Tensor of(const at::Tensor& outputs, const at::Tensor& targets, std::int64_t reduction) const {
    const auto [output, target] = fitting(outputs, targets);
    return at::cross_entropy_loss(output, target, weight_for(output), reduction, ignored_, smoothing_);
  }

  void check(const at::Tensor& outputs, const at::Tensor& targets) const {
    const auto [output, target] = fitting(outputs, targets);
    if (!target.is_floating_point()) check_indices(target, output.size(1), ignored_);
  }

  CheckTargets check_targets(const at::Tensor& outputs, const at::Tensor& targets) const {
    const std::int64_t classes = fitting(outputs, targets).output.size(1);
    return [classes, ignored = ignored_](const at::Tensor& all) {
      all.is_floating_point() ? check_probabilities(all) : check_indices(all, classes, ignored);
    };
  }

  // Returns the weight of each target in the divisor of torch's mean.
  at::Tensor weights(const at::Tensor& target) const {
    // If targets are probabilities of classes, torch divides by the number of targets.
    if (target.is_floating_point()) return at::ones_like(target.select(1, 0), at::kDouble);
    const at::Tensor counts = target.ne(ignored_);
    if (!weight_) return counts.to(at::kDouble);
    check_indices(target, weight_->numel(), ignored_);
    const at::Tensor classes = target.masked_fill(counts.logical_not(), 0).flatten();
    const at::Tensor weight = weight_->to(target.device(), at::kDouble).index_select(0, classes).view_as(target);
    return weight * counts;
  }

 private:
  ByClass fitting(const at::Tensor& outputs, const at::Tensor& targets) const {
    ByClass by = by_class(outputs, targets);
    const auto& [output, target] = by;
    const bool indices = !target.is_floating_point();
    const bool fits =
        output.dim() >= 2 && (indices ? target.dim() == output.dim() - 1 : target.sizes() == output.sizes());
    if (!indices && output.dim() >= 2 && target.dim() == output.dim() - 1) refuse_float_indices();
    if (!fits) {
      refuse_shapes(output, target,
                    "cross_entropy needs outputs [n, classes] with class indices [n] or probabilities [n, classes], or "
                    "outputs [n, t, classes] with class indices [n, t]");
    }
    if (!indices && divides_) {
      throw usage_error("ignores a class, and the targets are probabilities of shape " + c10::str(target.sizes()),
                        "loss.ignore_index", "leave it out, or give class indices");
    }
    if (weight_ && weight_->numel() != output.size(1)) {
      throw usage_error("has " + std::to_string(weight_->numel()) + " weights, and the model gives " +
                            std::to_string(output.size(1)) + " classes",
                        "loss.weight", "give one weight for each class");
    }
    return by;
  }

  // Half-precision outputs occur only under autocast, which casts both them and the float32 weights.
  std::optional<at::Tensor> weight_for(const at::Tensor& output) const {
    if (!weight_) return {};
    return weight_->to(output.device(), output.scalar_type() == at::kDouble ? at::kDouble : at::kFloat);
  }

  const double smoothing_;
  const bool divides_;
  const std::int64_t ignored_;
  std::optional<at::Tensor> weight_;
};

Loss cross_entropy(const CrossEntropyOptions& o) {
  const CrossEntropy loss(o);
  const auto reduced = [loss](std::int64_t reduction) -> LossFunction {
    return [loss, reduction](const at::Tensor& output, const at::Tensor& target) {
      return loss.of(output, target, reduction);
    };
  };
  return Loss(
      LossParts{.mean = reduced(at::Reduction::Mean),
                .check = [loss](const at::Tensor& output, const at::Tensor& target) { loss.check(output, target); },
                .weights = [loss](const at::Tensor& target) { return loss.weights(target); },
                .check_targets = [loss](const at::Tensor& output,
                                        const at::Tensor& target) { return loss.check_targets(output, target); },
                .sum = o.ignore_index ? reduced(at::Reduction::Sum) : LossFunction(),
                .each = reduced(at::Reduction::None)});
}

const bool cross_entropy_registered = losses().add<CrossEntropyOptions>(
    "cross_entropy", "cross-entropy of class indices, or of probabilities", cross_entropy,
    {{"outputs", "logits"}, {"aliases", config::Value::array({"ce"})}, {"same_calls", true}});

}  // namespace
}  // namespace ddp::train
