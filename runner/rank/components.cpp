#include "rank/components.h"

#include "datasets/dataset.h"
#include "datasets/image/mix.h"
#include "datasets/transform/transform.h"
#include "dist/parallel/parallel.h"
#include "models/model.h"
#include "rank/verb.h"
#include "schedule/scheduler.h"
#include "train/loss/loss.h"
#include "train/metrics/metric.h"
#include "train/optim/optimizer.h"

namespace ddp::rank {
namespace {

template <class Registry>
void list(const Registry& registry, config::Components& components) {
  for (auto& spec : registry.specs()) components.add(registry.kind(), spec);
}

void list_components(const ComponentsRequest&, const Task&, const TakeReply& reply) {
  config::Components components;
  list(models::registry(), components);
  list(datasets::registry(), components);
  list(datasets::transforms(), components);
  list(datasets::mixes(), components);
  list(dist::parallels(), components);
  list(train::losses(), components);
  list(train::metrics(), components);
  list(train::optimizers(), components);
  list(schedule::schedulers(), components);
  reply(components.to_json());
}

const bool components_registered =
    verbs().add<ComponentsRequest>(ComponentsRequest::kVerb, "lists every component", list_components);

}  // namespace
}  // namespace ddp::rank
