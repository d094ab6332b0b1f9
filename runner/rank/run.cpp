#include "rank/run.h"

#include <optional>

#include <ATen/Context.h>
#include <ATen/Parallel.h>
#include <torch/nn/module.h>

#include "base/log.h"
#include "checkpoint/store.h"
#include "dist/process_group.h"
#include "models/model.h"
#include "record/run_directory.h"
#include "train/trainer.h"

namespace ddp::rank {
namespace {

dist::Membership membership(const Task& t) {
  return {.backend = t.experiment->distributed.backend,
          .rank = t.rank,
          .world_size = t.world_size,
          .device = t.devices.front(),
          .store_host = t.store_host,
          .store_port = t.store_port,
          .store_listener = t.store_listener,
          .timeout = std::chrono::milliseconds(static_cast<std::int64_t>(t.experiment->distributed.timeout * 1000))};
}

// The model as it starts: fresh weights, or those of a file, or those of the checkpoint it goes on from.
torch::nn::AnyModule build_model(const Task& t, const std::optional<checkpoint::Checkpoint>& loaded) {
  const auto& e = *t.experiment;
  models::Placement placement;
  for (const auto& device : t.devices) placement.devices.emplace_back(device);
  torch::nn::AnyModule model = models::registry().build(e.model.name, e.model.options, placement);
  if (placement.devices.size() == 1) model.ptr()->to(placement.devices.front());
  if (loaded) {
    train::load_into(loaded->model, *model.ptr(), t.resume_from.string());
  } else if (!t.init_from.empty()) {
    train::load_into(checkpoint::read_safetensors(t.init_from), *model.ptr(), t.init_from.string());
  }
  return model;
}

struct Data {
  std::unique_ptr<datasets::Dataset> dataset;
  std::unique_ptr<data::Batches> batches;
  std::optional<train::Holdout> holdout;
};

Data build_data(const Task& t) {
  const auto& e = *t.experiment;
  Data d{.dataset = datasets::registry().build(e.dataset.name, e.dataset.options), .batches = nullptr, .holdout = {}};
  const std::int64_t batch_size = *e.batch_size;
  data::Split parts;
  if (const auto* map = dynamic_cast<const datasets::MapDataset*>(d.dataset.get())) {
    parts = data::split(map->size(), e.validation);
    if (parts.validation.numel() > 0) {
      d.holdout = {.dataset = map,
                   .samples = parts.validation,
                   .batch_size = batch_size,
                   .rank = t.rank,
                   .world_size = t.world_size,
                   .device = c10::Device(t.devices.front())};
    }
  }
  d.batches = data::make_batches(*d.dataset, parts.train, {t.rank, t.world_size, batch_size}, e.loader);
  return d;
}

// "CPU0", "GPU3": the word of the seeds for the device of a rank.
std::string label(const Task& t) {
  const c10::Device device(t.devices.front());
  return device.is_cpu() ? "CPU" + std::to_string(t.rank) : "GPU" + std::to_string(device.index());
}

}  // namespace

void run(const Task& t) {
  const auto& e = *t.experiment;
  at::set_num_threads(static_cast<int>(*e.threads));
  at::globalContext().setDeterministicCuDNN(e.deterministic);
  if (e.deterministic) at::globalContext().setBenchmarkCuDNN(false);
  at::manual_seed(static_cast<std::uint64_t>(e.seed));

  // In the order in which a Python script would draw from the generator: data, model, then training.
  Data data = build_data(t);
  std::optional<checkpoint::Checkpoint> resumed;
  if (!t.resume_from.empty()) resumed = checkpoint::load(t.resume_from);
  torch::nn::AnyModule module = build_model(t, resumed);
  dist::Group group;
  if (e.parallel == "ddp") group = dist::join_process_group(membership(t));
  dist::DistributedModel model(module, group, e.distributed, resumed ? resumed->state.buckets : dist::Buckets{});
  auto optimizer = train::optimizers().build(e.optimizer.name, e.optimizer.options, model.parameters());

  const config::Length length = config::length_of(e, data.batches->per_epoch());
  const record::RunDirectory directory(t.run_directory);
  const record::Console console(t.console);
  std::optional<record::RunRecorder> recorder;
  if (t.rank == 0) {
    recorder.emplace(directory.metrics(), *t.progress, console, e.log.every, resumed ? resumed->state.seconds : 0);
  }
  train::Checkpointer checkpointer({.folder = directory.checkpoints(),
                                    .options = e.checkpoint,
                                    .own_buffers = !e.distributed.broadcast_buffers,
                                    .rank = t.rank,
                                    .device = t.devices.front(),
                                    .group = group,
                                    .model = model,
                                    .optimizer = *optimizer,
                                    .recorder = recorder ? &*recorder : nullptr});
  checkpoint::State state;
  if (resumed) {
    checkpointer.restore(*resumed);
    state = resumed->state;
  }
  if (recorder) {
    auto& run = t.progress->run();
    run.steps_in_all = length.steps;
    run.step = state.step;
    run.epochs_done = state.epoch;
    run.seconds = state.seconds;
  }
  state.world_size = t.world_size;
  state.config_hash = t.config_hash;
  if (recorder && t.resumed) recorder->resumed(state.epoch, state.step, t.resume_from);

  train::Trainer trainer({.experiment = e,
                          .rank = t.rank,
                          .label = label(t),
                          .device = c10::Device(t.devices.front()),
                          .group = group,
                          .model = model,
                          .optimizer = *optimizer,
                          .loss = train::losses().build(e.loss.name, e.loss.options),
                          .scheduler = train::schedulers().build(e.scheduler.name, e.scheduler.options,
                                                                 {.lr = optimizer->lr(), .steps = length.steps}),
                          .length = length,
                          .batches = *data.batches,
                          .holdout = data.holdout,
                          .checkpointer = checkpointer,
                          .page = *t.progress,
                          .console = console,
                          .recorder = recorder ? &*recorder : nullptr},
                         std::move(state));
  trainer.run();
  if (recorder) recorder->flush();
  dist::leave(group);
}

}  // namespace ddp::rank
