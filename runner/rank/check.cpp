#include "rank/check.h"

#include <torch/nn/module.h>

#include "base/error.h"
#include "format/safetensors.h"
#include "model/freeze.h"
#include "model/weights.h"
#include "models/model.h"
#include "rank/verb.h"

namespace ddp::rank {
namespace {

// Reports a LibTorch error, which names no place, as an error of the key `model`.
void check_model(const CheckRequest& request, const Task& task, const TakeReply& reply) try {
  const config::Component& chosen = task.experiment->model;
  const auto model = models::registry().build(chosen.name, chosen.options, models::Placement{.devices = {c10::kCPU}});
  Checked checked;
  if (request.weights.empty()) {
    model::freeze(*model.ptr(), task.experiment->freeze);
  } else {
    checked.misfit = model::misfit(format::map_safetensors(request.weights), model::weights_of(*model.ptr()));
  }
  reply(config::write(checked));
} catch (const c10::Error& error) {
  throw usage_error(error.msg(), "model");
}

const bool check_registered = verbs().add<CheckRequest>(CheckRequest::kVerb, "reads the model's file", check_model);

}  // namespace
}  // namespace ddp::rank
