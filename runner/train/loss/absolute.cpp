#include <ATen/ops/huber_loss.h>
#include <ATen/ops/l1_loss.h>
#include <ATen/ops/smooth_l1_loss.h>

#include "train/loss/loss.h"

namespace ddp::train {
namespace {

struct SmoothL1Options {
  double beta = 1;
  void fields(config::Fields& f) {
    f({.name = "beta", .doc = "errors below it are squared, and divided by 2 beta", .range = config::at_least(0)},
      beta);
  }
};

struct HuberOptions {
  double delta = 1;
  void fields(config::Fields& f) {
    f({.name = "delta", .doc = "errors below it are squared, and divided by 2", .range = config::above(0)}, delta);
  }
};

at::Tensor l1(const at::Tensor& output, const at::Tensor& target, std::int64_t reduction) {
  return at::l1_loss(output, target, reduction);
}

// torch.nn.L1Loss.
const bool l1_registered = losses().add<config::NoOptions>(
    "l1", "mean absolute error", [](const config::NoOptions&) { return loss_of_numbers("l1", l1); },
    {{"outputs", "numbers"}, {"aliases", {"mae", "mean_absolute_error"}}, {"same_calls", true}});

// torch.nn.SmoothL1Loss. For beta 0 torch calls L1Loss, with other bits than the formula (torch/nn/functional.py).
const bool smooth_l1_registered = losses().add<SmoothL1Options>(
    "smooth_l1", "mean error: squared below beta, absolute above",
    [](const SmoothL1Options& o) {
      return loss_of_numbers(
          "smooth_l1", [beta = o.beta](const at::Tensor& output, const at::Tensor& target, std::int64_t reduction) {
            return beta == 0 ? l1(output, target, reduction) : at::smooth_l1_loss(output, target, reduction, beta);
          });
    },
    {{"outputs", "numbers"}, {"same_calls", true}});

// torch.nn.HuberLoss.
const bool huber_registered = losses().add<HuberOptions>(
    "huber", "mean error: squared below delta, absolute above, times delta",
    [](const HuberOptions& o) {
      return loss_of_numbers(
          "huber", [delta = o.delta](const at::Tensor& output, const at::Tensor& target, std::int64_t reduction) {
            return at::huber_loss(output, target, reduction, delta);
          });
    },
    {{"outputs", "numbers"}, {"same_calls", true}});

}  // namespace
}  // namespace ddp::train
