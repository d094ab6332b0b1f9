#include "model/numerics.h"

#include <ATen/autocast_mode.h>
#include <torch/nn/module.h>

#include "config/experiment.h"

namespace ddp::model {
namespace {

constexpr std::int64_t kImageDimensions = 4;

at::Tensor in_channels_last(const at::Tensor& tensor) {
  if (tensor.dim() != kImageDimensions) return tensor;
  return tensor.to(tensor.device(), tensor.scalar_type(), /*non_blocking=*/false, /*copy=*/false,
                   at::MemoryFormat::ChannelsLast);
}

}  // namespace

Numerics Numerics::of(const config::Experiment& experiment) {
  return {.precision = experiment.precision, .channels_last = experiment.channels_last};
}

std::vector<at::Tensor> Numerics::prepared(std::vector<at::Tensor> inputs) const {
  if (!channels_last) return inputs;
  for (at::Tensor& input : inputs) input = in_channels_last(input);
  return inputs;
}

void to_channels_last(torch::nn::Module& module) {
  const at::NoGradGuard no_grad;
  for (auto& item : module.named_parameters()) item.value().set_data(in_channels_last(item.value()));
  for (auto& item : module.named_buffers()) item.value().set_data(in_channels_last(item.value()));
}

Autocast::Autocast(const std::string& precision, c10::Device device)
    : on_(precision != "fp32"), device_(device.type()) {
  if (!on_) return;
  outer_ = at::autocast::is_autocast_enabled(device_);
  outer_type_ = at::autocast::get_autocast_dtype(device_);
  at::autocast::set_autocast_enabled(device_, true);
  at::autocast::set_autocast_dtype(device_, precision == "fp16" ? at::kHalf : at::kBFloat16);
  at::autocast::increment_nesting();
}

Autocast::~Autocast() {
  if (!on_) return;
  if (at::autocast::decrement_nesting() == 0) at::autocast::clear_cache();
  at::autocast::set_autocast_enabled(device_, outer_);
  at::autocast::set_autocast_dtype(device_, outer_type_);
}

CastsOfThread::CastsOfThread(c10::DeviceType device)
    : device_(device),
      on_(at::autocast::is_autocast_enabled(device)),
      type_(at::autocast::get_autocast_dtype(device)) {}

void CastsOfThread::set() const {
  at::autocast::set_autocast_enabled(device_, on_);
  at::autocast::set_autocast_dtype(device_, type_);
}

}  // namespace ddp::model
