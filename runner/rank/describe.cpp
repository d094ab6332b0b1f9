#include "rank/verbs.h"

#include <algorithm>
#include <utility>

#include <ATen/Context.h>

#include "base/error.h"
#include "config/data_description.h"
#include "data/description.h"
#include "datasets/dataset.h"
#include "datasets/image/mix.h"
#include "datasets/transform/transform.h"
#include "dist/backends/backend.h"
#include "dist/parallel/parallel.h"
#include "format/safetensors.h"
#include "models/model.h"
#include "rank/process.h"
#include "schedule/scheduler.h"
#include "train/loss/loss.h"
#include "train/metrics/metric.h"
#include "train/optim/optimizer.h"

namespace ddp::rank {
namespace {

// Uses the seed of the run, so datasets that generate samples give the samples of the run.
data::Sets sets_of_run(const Task& task) {
  at::manual_seed(static_cast<std::uint64_t>(task.experiment->seed));
  return build_sets(task);
}

void describe_data(const DescribeRequest&, const Task& task, const TakeReply& reply) {
  const config::Experiment& e = *task.experiment;
  const data::Sets sets = sets_of_run(task);
  config::Loader loader = e.loader;
  loader.workers = 0;  // a single batch does not need threads
  const auto batches =
      data::make_batches(*sets.train.dataset, sets.train.samples,
                         {.world_size = e.logical(task.world_size), .batch_size = *e.batch_size}, loader);
  batches->start_epoch(/*epoch=*/0, /*position=*/0, /*done=*/0, /*last=*/true);
  reply(data::describe(sets, e, batches->next()));
}

void preview_data(const PreviewRequest&, const Task& task, const TakeReply& reply) {
  reply(data::preview(sets_of_run(task)));
}

void tell_sets(const SetsRequest&, const Task& task, const TakeReply& reply) {
  reply(data::sets_of_rows(sets_of_run(task), *task.experiment));
}

void tell_draws(const DrawsRequest& request, const Task& task, const TakeReply& reply) {
  const data::Sets sets = sets_of_run(task);
  const datasets::MapDataset* const dataset = sets.train.map();
  config::DrawnSamples drawn;
  for (std::int64_t i = 0; i < std::min(request.samples, sets.train.size()); ++i) {
    const auto sample = sets.train.samples[i].item<std::int64_t>();
    config::Value draws = dataset ? dataset->draws(sample, /*epoch=*/0) : config::Value();
    if (draws.is_null()) break;
    drawn.samples.push_back({.sample = sample, .draws = std::move(draws)});
  }
  if (drawn.samples.empty()) {
    throw usage_error("makes no random draws for its samples", "dataset \"" + task.experiment->dataset.name + "\"",
                      "--draws is for datasets of images, which have transforms");
  }
  reply(config::written(drawn));
}

const bool describe_registered =
    verbs().add<DescribeRequest>(DescribeRequest::kVerb, "describes the data", describe_data);
const bool preview_registered =
    verbs().add<PreviewRequest>(PreviewRequest::kVerb, "builds the report about the data", preview_data);

const bool sets_registered = verbs().add<SetsRequest>(SetsRequest::kVerb, "tells the set of each row", tell_sets);
const bool draws_registered = verbs().add<DrawsRequest>(DrawsRequest::kVerb, "lists the transforms' draws", tell_draws);

void hold(const HoldRequest& request, const Task& task, const TakeReply& reply) {
  const data::Sets sets = build_sets(task, request.whole);
  if (!request.file.empty()) format::write_safetensors(request.file, data::hold(sets));
  const config::Value weight = task.experiment->loss.options.value(config::kWeight, config::Value());
  reply(data::facts_of(sets, /*with_classes=*/weight == config::kBalanced));
}

const bool hold_registered =
    verbs().add<HoldRequest>(HoldRequest::kVerb, "prepares the data that all ranks of a node map", hold);

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
  list(dist::backends(), components);
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
