#include "rank/describe.h"

#include <algorithm>
#include <utility>

#include <ATen/Context.h>

#include "base/error.h"
#include "config/data_description.h"
#include "data/description.h"
#include "rank/data.h"
#include "rank/verb.h"

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
  const auto batches = data::make_batches(*sets.train.dataset, sets.train.samples,
                                          {.world_size = task.world_size, .batch_size = *e.batch_size}, loader);
  batches->start_epoch(/*epoch=*/0, /*position=*/0, /*done=*/0, /*last=*/true);
  reply(config::write(DataView{.value = data::describe(sets, batches->next())}));
}

void preview_data(const PreviewRequest&, const Task& task, const TakeReply& reply) {
  reply(config::write(DataView{.value = data::preview(sets_of_run(task))}));
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
  reply(config::write(DataView{.value = config::written(drawn)}));
}

const bool describe_registered =
    verbs().add<DescribeRequest>(DescribeRequest::kVerb, "describes the data", describe_data);
const bool preview_registered =
    verbs().add<PreviewRequest>(PreviewRequest::kVerb, "builds the report about the data", preview_data);

const bool draws_registered = verbs().add<DrawsRequest>(DrawsRequest::kVerb, "lists the transforms' draws", tell_draws);

}  // namespace
}  // namespace ddp::rank
