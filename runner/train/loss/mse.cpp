#include <ATen/ops/mse_loss.h>

#include "train/loss/loss.h"

namespace ddp::train {
namespace {

// torch.nn.MSELoss.
const bool mse_registered = losses().add<config::NoOptions>(
    "mse", "mean squared error",
    [](const config::NoOptions&) {
      return loss_of_numbers("mse", [](const at::Tensor& output, const at::Tensor& target, std::int64_t reduction) {
        return at::mse_loss(output, target, reduction);
      });
    },
    {{"outputs", "numbers"}, {"aliases", {"l2", "mean_squared_error"}}, {"same_calls", true}});

}  // namespace
}  // namespace ddp::train
