#include "dist/batch_norm.h"

#include <tuple>
#include <utility>

#include <ATen/OpMathType.h>
#include <ATen/TensorOperators.h>
#include <ATen/core/LegacyTypeDispatch.h>
#include <ATen/core/grad_mode.h>
#include <ATen/ops/_batch_norm_impl_index.h>
#include <ATen/ops/batch_norm_native.h>
#include <ATen/ops/batch_norm_update_stats.h>
#include <ATen/ops/cat.h>
#include <ATen/ops/full_like.h>
#include <ATen/ops/instance_norm_native.h>
#include <ATen/ops/native_batch_norm_backward.h>
#include <ATen/ops/stack.h>
#include <ATen/ops/zeros.h>
#include <torch/csrc/autograd/custom_function.h>
#include <torch/library.h>

#include "dist/turns.h"

namespace ddp::dist {
namespace {

thread_local SyncedNorms* norms_in_use = nullptr;

// Returns this tensor of all logical ranks, in their order: [logical ranks, …].
at::Tensor of_logical_ranks(const Group& group, const at::Tensor& mine) {
  const auto of_ranks = [&group](const at::Tensor& here) { return at::cat(all_gather(group, here)); };
  Turns* const turns = Turns::of_this_thread();
  return turns != nullptr ? turns->meet(mine, of_ranks) : of_ranks(mine.unsqueeze(0));
}

// Combines the parts [n, …] as a balanced binary tree: neighbours first.
template <class Combine>
at::Tensor combined(at::Tensor parts, const Combine& combine) {
  while (parts.size(0) > 1) {
    const std::int64_t paired = parts.size(0) / 2 * 2;
    const at::Tensor pairs = combine(parts.slice(0, 0, paired, 2), parts.slice(0, 1, paired, 2));
    parts = paired == parts.size(0) ? pairs : at::cat({pairs, parts.slice(0, paired)});
  }
  return parts.select(0, 0);
}

// The type in which the kernels take statistics: float for 16-bit inputs.
at::ScalarType type_of_statistics(const at::Tensor& input) { return at::toOpMathType(input.scalar_type()); }

// The statistics of each channel: [3, channels], float64: the number of values, their mean, and the sum of their
// squared deviations from it.
at::Tensor statistics_of(const at::Tensor& input) {
  const at::Tensor unused = at::zeros({input.size(1)}, input.options().dtype(type_of_statistics(input)));
  const auto [mean, variance] = at::batch_norm_update_stats(input, unused, unused, /*momentum=*/0);
  const auto count = static_cast<double>(input.numel()) / static_cast<double>(input.size(1));
  const at::Tensor deviations = variance.to(at::kDouble) * count;
  return at::stack({at::full_like(deviations, count), mean.to(at::kDouble), deviations});
}

// The statistics of two batches together (Chan, Golub and LeVeque 1979): [n, 3, channels].
at::Tensor statistics_of_both(const at::Tensor& a, const at::Tensor& b) {
  const at::Tensor count = a.select(1, 0) + b.select(1, 0);
  const at::Tensor apart = b.select(1, 1) - a.select(1, 1);
  const at::Tensor share = b.select(1, 0) / count;
  return at::stack(
      {count, a.select(1, 1) + apart * share, a.select(1, 2) + b.select(1, 2) + apart * apart * share * a.select(1, 0)},
      1);
}

std::optional<at::Tensor> given(const std::optional<at::Tensor>& tensor) {
  return tensor && tensor->defined() ? tensor : std::nullopt;
}

// Statistics of the whole batch, for its backward pass.
struct WholeBatch {
  at::Tensor count;           // of values, float64 [channels]
  at::Tensor mean, variance;  // [channels], in type_of_statistics()
  double eps;
  Group group;

  std::optional<at::Tensor> in_type(const std::optional<at::Tensor>& tensor) const {
    return tensor ? std::optional(tensor->to(mean.scalar_type())) : std::nullopt;
  }
  at::Tensor normalised(const at::Tensor& input, const std::optional<at::Tensor>& weight,
                        const std::optional<at::Tensor>& bias) const {
    return std::get<0>(at::_batch_norm_impl_index(input, in_type(weight), in_type(bias), mean, variance,
                                                  /*training=*/false, /*momentum=*/0, eps, /*cudnn_enabled=*/false));
  }
};

struct KeptBatch : torch::CustomClassHolder {
  explicit KeptBatch(WholeBatch batch) : whole(std::move(batch)) {}
  const WholeBatch whole;
};

struct NormOfRanks : torch::autograd::Function<NormOfRanks> {
  static at::Tensor forward(torch::autograd::AutogradContext* context, const at::Tensor& input,
                            const std::optional<at::Tensor>& weight, const std::optional<at::Tensor>& bias,
                            const WholeBatch& whole) {
    context->save_for_backward({input, weight.value_or(at::Tensor())});
    context->saved_data["whole"] = c10::IValue::make_capsule(c10::make_intrusive<KeptBatch>(whole));
    context->saved_data["bias"] = bias.has_value();
    return whole.normalised(input, weight, bias);
  }

  // With x' = (x - mean) / deviation, the gradient of x is
  //   weight / deviation * (dy - mean of dy - x' * mean of dy * x'),
  // with means over the whole batch. Ranks average the gradients of weight and bias as those of all parameters.
  static torch::autograd::variable_list backward(torch::autograd::AutogradContext* context,
                                                 const torch::autograd::variable_list& gradients) {
    const torch::autograd::variable_list saved = context->get_saved_variables();
    const at::Tensor &input = saved[0], &weight = saved[1];
    const auto kept = context->saved_data["whole"].toCapsule();
    const WholeBatch& whole = static_cast<const KeptBatch&>(*kept).whole;
    const bool needs_input = context->needs_input_grad(0);
    // In evaluation mode the kernel takes the statistics for constants: it gives weight / deviation * dy, and the sums
    // of dy * x' and of dy.
    auto [of_input, of_weight, of_bias] =
        at::native_batch_norm_backward(gradients[0], input, whole.in_type(given(weight)), whole.mean, whole.variance,
                                       {}, {}, /*train=*/false, whole.eps, {needs_input, true, true});
    if (needs_input) {
      const at::Tensor sums = combined(of_logical_ranks(whole.group, at::stack({of_bias, of_weight}).to(at::kDouble)),
                                       [](const at::Tensor& a, const at::Tensor& b) { return a + b; });
      at::Tensor scale = (whole.variance.to(at::kDouble) + whole.eps).rsqrt() / whole.count;
      if (weight.defined()) scale = scale * weight;
      of_input -= whole.normalised(input, scale * sums.select(0, 1), scale * sums.select(0, 0));
    }
    const bool has_bias = context->saved_data["bias"].toBool();
    return {of_input, weight.defined() ? of_weight.to(weight.scalar_type()) : at::Tensor(),
            has_bias ? of_bias : at::Tensor(), at::Tensor()};
  }
};

void blend(const std::optional<at::Tensor>& running, const at::Tensor& value, double share) {
  if (!running || !running->defined()) return;
  // As the kernel of a usual batch norm, this may change what autograd has saved.
  const at::AutoDispatchBelowADInplaceOrView unversioned;
  running->copy_(running->to(at::kDouble) * (1 - share) + value * share);
}

// It calls aten::batch_norm with the samples of a batch as channels.
at::Tensor instance_norm_of_rank(const at::Tensor& input, const std::optional<at::Tensor>& weight,
                                 const std::optional<at::Tensor>& bias, const std::optional<at::Tensor>& running_mean,
                                 const std::optional<at::Tensor>& running_var, bool use_input_stats, double momentum,
                                 double eps, bool cudnn_enabled) {
  const SyncedNorms::Use none(nullptr);
  return at::native::instance_norm(input, weight, bias, running_mean, running_var, use_input_stats, momentum, eps,
                                   cudnn_enabled);
}

}  // namespace

// A kernel for autograd's keys alone comes before the operator's own one, which is for all keys.
SyncedNorms::SyncedNorms(Group group) : group_(std::move(group)) {
  for (const auto key : {c10::DispatchKey::AutogradCPU, c10::DispatchKey::AutogradCUDA}) {
    kernels_.push_back(std::make_unique<torch::Library>(torch::Library::IMPL, "aten", key, __FILE__, __LINE__));
    kernels_.back()->impl("batch_norm", TORCH_FN(normalise));
    kernels_.back()->impl("instance_norm", TORCH_FN(instance_norm_of_rank));
  }
}

SyncedNorms::~SyncedNorms() = default;

SyncedNorms::Use::Use(SyncedNorms* norms) : outer_(std::exchange(norms_in_use, norms)) {}

SyncedNorms::Use::~Use() { norms_in_use = outer_; }

at::Tensor SyncedNorms::normalise(const at::Tensor& input, const std::optional<at::Tensor>& weight,
                                  const std::optional<at::Tensor>& bias, const std::optional<at::Tensor>& running_mean,
                                  const std::optional<at::Tensor>& running_var, bool training, double momentum,
                                  double eps, bool cudnn_enabled) {
  SyncedNorms* const norms = norms_in_use;
  if (norms == nullptr || !training) {
    return at::native::batch_norm(input, weight, bias, running_mean, running_var, training, momentum, eps,
                                  cudnn_enabled);
  }
  ++norms->calls_;
  WholeBatch whole{.count = {}, .mean = {}, .variance = {}, .eps = eps, .group = norms->group_};
  {
    const at::NoGradGuard no_grad;
    const at::Tensor statistics = combined(of_logical_ranks(norms->group_, statistics_of(input)), statistics_of_both);
    const at::Tensor mean = statistics.select(0, 1), deviations = statistics.select(0, 2);
    whole.count = statistics.select(0, 0);
    whole.mean = mean.to(type_of_statistics(input));
    whole.variance = (deviations / whole.count).to(type_of_statistics(input));
    blend(running_mean, mean, momentum);
    blend(running_var, deviations / (whole.count - 1), momentum);
  }
  return NormOfRanks::apply(input, given(weight), given(bias), whole);
}

}  // namespace ddp::dist
