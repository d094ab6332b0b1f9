#include <ATen/ops/nll_loss_nd.h>

#include "base/error.h"
#include "config/experiment.h"
#include "train/loss/classes.h"
#include "train/loss/loss.h"

namespace ddp::train {
namespace {

void require_indices(const at::Tensor& target) {
  if (!target.is_floating_point()) return;
  throw usage_error("nll needs class indices; the targets of this dataset are numbers", "loss",
                    "use loss = \"cross_entropy\" for probabilities, or \"mse\"");
}

ByClass nll_inputs(const at::Tensor& outputs, const at::Tensor& targets) {
  ByClass by = by_class(outputs, targets);
  require_indices(by.target);
  if (by.output.dim() < 2 || by.target.dim() != by.output.dim() - 1) {
    refuse_shapes(by.output, by.target,
                  "nll needs outputs [n, classes] with class indices [n], or outputs [n, t, classes] with class "
                  "indices [n, t]; outputs are log-probabilities");
  }
  return by;
}

// torch.nn.NLLLoss, for the outputs of a LogSoftmax.
const bool nll_registered = losses().add<config::NoOptions>(
    "nll", "negative log-likelihood of class indices; outputs are log-probabilities",
    [](const config::NoOptions&) {
      const auto reduced = [](std::int64_t reduction) -> LossFunction {
        return [reduction](const at::Tensor& outputs, const at::Tensor& targets) {
          const auto [output, target] = nll_inputs(outputs, targets);
          return at::nll_loss_nd(output, target, {}, reduction);
        };
      };
      return Loss(LossParts{
          .mean = reduced(at::Reduction::Mean),
          .check =
              [](const at::Tensor& outputs, const at::Tensor& targets) {
                const auto [output, target] = nll_inputs(outputs, targets);
                check_indices(target, output.size(1), config::kIgnoredByDefault);
              },
          .weights = [](const at::Tensor& target) { return target.ne(config::kIgnoredByDefault).to(at::kDouble); },
          .check_targets = [](const at::Tensor& outputs, const at::Tensor& targets) -> CheckTargets {
            return [classes = nll_inputs(outputs, targets).output.size(1)](const at::Tensor& all) {
              require_indices(all);
              check_indices(all, classes, config::kIgnoredByDefault);
            };
          },
          .each = reduced(at::Reduction::None)});
    },
    {{"outputs", "log_probabilities"}, {"same_calls", true}});

}  // namespace
}  // namespace ddp::train
