#include <ATen/ops/mse_loss.h>

#include "base/error.h"
#include "train/loss/loss.h"

namespace ddp::train {
namespace {

struct MseOptions {
  void fields(config::Fields&) {}
};

// torch.nn.MSELoss. Where Python only warns that it broadcasts, this is an error: it is never meant.
at::Tensor mse(const at::Tensor& output, const at::Tensor& target) {
  if (!target.is_floating_point()) {
    throw usage_error("mse needs targets that are numbers; this dataset has class indices", "loss",
                      "use loss = \"cross_entropy\"");
  }
  if (output.sizes() != target.sizes()) {
    throw usage_error("the model gives values of shape " + c10::str(output.sizes()) + " for targets of shape " +
                          c10::str(target.sizes()),
                      "loss", "mse needs them equal: change the model's output or the dataset's targets");
  }
  return at::mse_loss(output, target);
}

const bool mse_registered =
    losses().add<MseOptions>("mse", "mean squared error", [](const MseOptions&) { return Loss(mse); },
                             {{"outputs", "numbers"}});

}  // namespace
}  // namespace ddp::train
