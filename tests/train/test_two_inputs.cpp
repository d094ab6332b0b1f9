#include <fcntl.h>
#include <algorithm>

#include <ATen/ops/equal.h>
#include <ATen/ops/from_blob.h>
#include <ATen/ops/mse_loss.h>
#include <torch/nn/cloneable.h>
#include <torch/nn/modules/linear.h>

#include "array_files.h"
#include "base/file_descriptor.h"
#include "catch.h"
#include "data/sets.h"
#include "dist/parallel/parallel.h"
#include "schedule/scheduler.h"
#include "scratch_folder.h"
#include "train/trainer.h"

namespace ddp::train {
namespace {

// Takes two inputs of different widths, in the order of the files.
struct TwoInputs : torch::nn::Cloneable<TwoInputs> {
  TwoInputs() { reset(); }
  void reset() override {
    wide = register_module("wide", torch::nn::Linear(3, 2));
    narrow = register_module("narrow", torch::nn::Linear(1, 2));
  }
  at::Tensor forward(at::Tensor x, at::Tensor y) { return wide(x) * narrow(y); }
  torch::nn::Linear wide{nullptr};
  torch::nn::Linear narrow{nullptr};
};

std::vector<float> numbers(std::int64_t count, float step) {
  std::vector<float> all;
  for (std::int64_t i = 0; i < count; ++i) all.push_back(step * static_cast<float>(i % 13) - 0.5F);
  return all;
}

constexpr std::int64_t kSamples = 10;
constexpr std::int64_t kBatch = 4;
constexpr double kRate = 0.1;

// Two epochs by hand.
void train_by_hand(TwoInputs& model, const at::Tensor& x, const at::Tensor& y, const at::Tensor& target) {
  for (int epoch = 0; epoch < 2; ++epoch) {
    for (std::int64_t begin = 0; begin < kSamples; begin += kBatch) {
      const std::int64_t count = std::min(kBatch, kSamples - begin);
      const auto rows = [&](const at::Tensor& all) { return all.narrow(0, begin, count).clone(); };
      model.zero_grad();
      at::mse_loss(model.forward(rows(x), rows(y)), rows(target)).backward();
      const at::NoGradGuard no_grad;
      for (at::Tensor& parameter : model.parameters()) parameter.add_(parameter.grad(), -kRate);
    }
  }
}

}  // namespace

TEST_CASE("a model of two inputs trains on arrays of two files to the bits of a loop by hand") {
  const ScratchFolder scratch;
  auto x = numbers(kSamples * 3, 0.1F);
  auto y = numbers(kSamples, 0.3F);
  auto target = numbers(kSamples * 2, 0.07F);
  scratch.write("x.npy", npy_of("<f4", "(10, 3)", x));
  scratch.write("y.npy", npy_of("<f4", "(10, 1)", y));
  scratch.write("target.npy", npy_of("<f4", "(10, 2)", target));
  const auto path = [&](const char* name) { return (scratch.folder() / name).string(); };

  config::Experiment e;
  e.dataset = {.name = "npy", .options = {{"inputs", {path("x.npy"), path("y.npy")}}, {"targets", path("target.npy")}}};
  e.loss = {.name = "mse"};
  e.optimizer = {.name = "sgd", .options = {{"lr", kRate}}};
  e.loader.shuffle = false;
  e.epochs = 2;
  e.batch_size = kBatch;
  const data::Sets sets = data::build_sets(e, 0, 1);
  const auto batches = data::make_batches(*sets.train.dataset, sets.train.samples, {.batch_size = kBatch}, e.loader);

  at::manual_seed(7);
  torch::nn::AnyModule module{TwoInputs()};
  at::manual_seed(7);
  TwoInputs by_hand;
  const auto model = dist::parallels().build(
      "single", config::Value::object(), {.module = module, .group = nullptr, .devices = {c10::kCPU}, .options = {}});
  model->start({});
  GroupedOptimizer optimizer(e, model->parameters_by_all_names());
  record::SharedProgress shared(1);
  const FileDescriptor nowhere(open("/dev/null", O_WRONLY | O_CLOEXEC));
  const record::Console console(nowhere.get());
  record::RunRecorder recorder(scratch.folder() / "metrics.jsonl", shared, console, 1, 0, nullptr);
  model::Generators generators({"cpu"}, /*logical=*/1);
  Checkpointer checkpointer(
      {.run = record::RunDirectory(scratch.folder()),
       .options = e.checkpoint,
       .metric = e.best_metric(),
       .rank = 0,
       .generators = generators,
       .group = nullptr,
       .control = nullptr,
       .model = *model,
       .states = states_of({.experiment = e, .rank = 0, .group = nullptr, .model = *model, .optimizer = optimizer}),
       .documents = {},
       .recorder = &recorder});
  std::filesystem::create_directories(scratch.folder() / "checkpoints");
  const config::Length length = config::length_of(e, batches->per_epoch());
  checkpoint::State begin;
  begin.batch_size = begin.global_batch_size = kBatch;
  Trainer trainer({.experiment = e,
                   .rank = 0,
                   .label = "CPU0",
                   .device = c10::kCPU,
                   .group = nullptr,
                   .control = nullptr,
                   .bytes_to_record = 1 << 28,
                   .model = *model,
                   .optimizer = optimizer,
                   .loss = losses().build("mse", config::Value::object()),
                   .scheduler = schedule::schedulers().build("constant", config::Value::object(),
                                                             {.lr = kRate, .steps = length.steps}),
                   .length = length,
                   .batches = *batches,
                   .cache = nullptr,
                   .validation = {},
                   .test = {},
                   .checkpointer = checkpointer,
                   .shared = shared,
                   .console = console,
                   .recorder = &recorder},
                  begin);
  trainer.run();

  train_by_hand(by_hand, at::from_blob(x.data(), {kSamples, 3}), at::from_blob(y.data(), {kSamples, 1}),
                at::from_blob(target.data(), {kSamples, 2}));
  const auto expected = by_hand.named_parameters();
  REQUIRE(model->parameters().size() == 4);
  for (const auto& [name, parameter] : model->parameters()) {
    INFO(name);
    CHECK(at::equal(parameter, expected[name]));
  }
}

}  // namespace ddp::train
