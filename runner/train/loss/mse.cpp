#include <ATen/ops/mse_loss.h>

#include "train/loss/loss.h"
#include "train/loss/numbers.h"

namespace ddp::train {
namespace {

struct MseOptions {
  void fields(config::Fields&) {}
};

// torch.nn.MSELoss.
at::Tensor mse(const at::Tensor& output, const at::Tensor& target) {
  check_numbers("mse", output, target);
  return at::mse_loss(output, target);
}

const bool mse_registered = losses().add<MseOptions>(
    "mse", "mean squared error", [](const MseOptions&) { return Loss(mse); }, {{"outputs", "numbers"}});

}  // namespace
}  // namespace ddp::train
