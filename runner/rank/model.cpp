#include "rank/model.h"

#include <torch/nn/module.h>

#include "base/error.h"
#include "format/safetensors.h"
#include "models/model.h"

namespace ddp::rank {
namespace {

std::vector<c10::Device> devices_of(const Task& t) { return {t.devices.begin(), t.devices.end()}; }

torch::nn::AnyModule build_model(const Task& t) {
  const auto& e = *t.experiment;
  models::Placement placement{.devices = devices_of(t)};
  // Copied to the others whenever it is used.
  if (dist::copies_model(e.parallel)) placement.devices.resize(1, c10::kCPU);
  torch::nn::AnyModule model = models::registry().build(e.model.name, e.model.options, placement);
  if (placement.devices.size() == 1) model.ptr()->to(placement.devices.front());
  return model;
}

// Loads the weights of the file that `init_from` names. A file that does not fit is refused: it would not fit when the
// ranks start again.
void load_given_weights(dist::Parallel& model, const std::filesystem::path& file) try {
  model.load(format::read_safetensors(file), file.string());
} catch (const Error& error) {
  throw usage_error(error.summary(), error.where(), error.remedy());
}

}  // namespace

std::unique_ptr<dist::Parallel> build_parallel(const Task& t, const dist::Group& group,
                                               const checkpoint::Checkpoint* saved) {
  const auto& e = *t.experiment;
  auto parallel = dist::parallels().build(
      e.parallel, config::Value::object(),
      {.module = build_model(t), .group = group, .devices = devices_of(t), .options = e.distributed});
  if (saved != nullptr) {
    parallel->load(saved->of(checkpoint::kModel), t.resume_from.string());
  } else if (!t.init_from.empty() && (t.together || t.rank == 0)) {
    // Where another rank does not see the file, rank 0's weights reach it as those of every start do.
    load_given_weights(*parallel, t.init_from);
  }
  parallel->start(saved != nullptr ? saved->state.buckets : dist::Buckets{});
  return parallel;
}

}  // namespace ddp::rank
