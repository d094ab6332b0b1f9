#include "rank/check.h"

#include "base/error.h"
#include "models/model.h"
#include "rank/verb.h"

namespace ddp::rank {
namespace {

// Reports a LibTorch error, which names no place, as an error of the key `model`.
void check_model(const CheckRequest&, const Task& task, const TakeReply& reply) try {
  const config::Component& model = task.experiment->model;
  models::registry().build(model.name, model.options, models::Placement{.devices = {c10::kCPU}});
  reply(config::write(Checked{}));
} catch (const c10::Error& error) {
  throw usage_error(error.msg(), "model");
}

const bool check_registered = verbs().add<CheckRequest>(CheckRequest::kVerb, "reads the model's file", check_model);

}  // namespace
}  // namespace ddp::rank
