#include "rank/model.h"

#include <torch/nn/module.h>

#include "base/error.h"
#include "format/safetensors.h"
#include "model/freeze.h"
#include "model/initial_weights.h"
#include "model/numerics.h"
#include "models/model.h"

namespace ddp::rank {
namespace {

std::vector<c10::Device> devices_of(const Task& t) { return {t.devices.begin(), t.devices.end()}; }

torch::nn::AnyModule build_model(const Task& t) {
  const auto& e = *t.experiment;
  models::Placement placement{.devices = devices_of(t)};
  // The strategy copies the model to the other devices at each use.
  if (dist::copies_model(e.parallel)) placement.devices.resize(1, c10::kCPU);
  torch::nn::AnyModule model = models::registry().build(e.model.name, e.model.options, placement);
  model::freeze(*model.ptr(), e.freeze);
  if (placement.devices.size() == 1) model.ptr()->to(placement.devices.front());
  if (e.channels_last) model::to_channels_last(*model.ptr());
  return model;
}

// Reports a damaged file as a usage error, because a restart cannot help.
NamedTensors read_given(const std::filesystem::path& file) try {
  return format::read_safetensors(file);
} catch (const Error& error) {
  throw usage_error(error.summary(), error.where(), error.remedy());
}

// Returns the checkpoint's buckets, or none if other parameters are frozen now: then new buckets are made.
dist::Buckets fitting_buckets(const checkpoint::State& saved, const config::Experiment& e) {
  return saved.freeze == e.freeze ? saved.buckets : dist::Buckets{};
}

}  // namespace

NamedTensors given_weights(const Task& t, const torch::nn::Module& module) {
  return model::initial_weights(read_given(t.init_from), t.experiment->init_from, module, t.init_from.string());
}

std::unique_ptr<dist::Parallel> build_parallel(const Task& t, const dist::Group& group,
                                               const checkpoint::Checkpoint* saved, SavedWeights which) {
  const auto& e = *t.experiment;
  auto parallel = dist::parallels().build(
      e.parallel, config::Value::object(),
      {.module = build_model(t), .group = group, .devices = devices_of(t), .options = e.distributed});
  if (saved != nullptr) {
    parallel->load(saved->weights(/*raw=*/which == SavedWeights::own), t.resume_from.string());
  } else if (!t.init_from.empty() && (t.together || t.rank == 0)) {
    // A rank that does not see the file receives rank 0's weights when the strategy starts.
    parallel->load(given_weights(t, *parallel->module().ptr()), t.init_from.string());
  }
  parallel->start(saved != nullptr ? fitting_buckets(saved->state, e) : dist::Buckets{});
  return parallel;
}

}  // namespace ddp::rank
