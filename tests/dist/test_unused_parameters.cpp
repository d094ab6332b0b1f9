// Replayed steps of ranks that leave parameters unused, beside eager ones.
#include <array>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include <ATen/Functions.h>
#include <ATen/core/grad_mode.h>
#include <torch/nn/module.h>
#include <torch/nn/modules/container/any.h>
#include <torch/nn/modules/linear.h>

#include "catch.h"
#include "dist/parallel/parallel.h"
#include "shared_ranks.h"
#include "train/gradients.h"
#include "train/replay/kind.h"

namespace ddp::dist {
namespace {

using at::Tensor;

constexpr int kSteps = 14;
constexpr double kLr = 0.1, kDecay = 0.1;

// Short batches use one layer, long ones another; nobody uses the third.
struct Branches : torch::nn::Module {
  Branches() {
    at::manual_seed(3);
    first = register_module("first", torch::nn::Linear(6, 5));
    short_one = register_module("short", torch::nn::Linear(5, 2));
    long_one = register_module("long", torch::nn::Linear(5, 2));
    never = register_module("never", torch::nn::Linear(5, 2));
  }
  Tensor forward(Tensor x) {
    const Tensor hidden = at::tanh(first(x));
    return x.size(0) < 5 ? short_one(hidden) : long_one(hidden);
  }
  torch::nn::Linear first{nullptr}, short_one{nullptr}, long_one{nullptr}, never{nullptr};
};

// The ranks have batches of the same length in some steps, and meet new lengths at different steps: one rank then
// replays while another one records. From the last steps on they only replay.
std::int64_t rows_of(int rank, int step) {
  constexpr std::array<std::array<int, kSteps>, 2> kRows = {
      {{3, 3, 3, 3, 3, 7, 7, 3, 3, 7, 3, 7, 3, 7}, {7, 3, 3, 7, 7, 7, 3, 3, 7, 7, 3, 7, 3, 3}}};
  return kRows[static_cast<std::size_t>(rank % 2)][static_cast<std::size_t>(step)];
}

struct Trained {
  std::vector<Tensor> parameters = {};
  int replayed = 0;
  std::size_t unused = 0;
};

// Trains with an update that also decays weights: a gradient of zeros is not the same as none.
Trained train(const Group& group, bool replays) {
  const int rank = rank_in(group);
  config::Distributed options;
  options.find_unused_parameters = true;
  const auto model = parallels().build("ddp", config::Value::object(),
                                       {.module = torch::nn::AnyModule(std::make_shared<Branches>()),
                                        .group = group,
                                        .devices = {c10::kCPU},
                                        .options = options});
  model->start({});
  const NamedTensors& parameters = model->parameters();
  ddp::train::GradientWatch watch(parameters, [](std::size_t) {});
  std::map<std::int64_t, ddp::train::Kind> kinds;
  ddp::train::CommonMemory common;
  Trained result;
  at::manual_seed(static_cast<std::uint64_t>(rank) + 1);
  for (int step = 0; step < kSteps; ++step) {
    const Tensor x = at::randn({rows_of(rank, step), 6}), y = at::randn({x.size(0), 2});
    model->zero_grad();
    model->begin_forward();
    ddp::train::Kind* const kind = replays ? &kinds[x.size(0)] : nullptr;
    if (kind != nullptr && kind->is_trusted()) {
      ++result.replayed;
      result.unused = kind->player().unused().size();
      kind->player().forward({x, y});
      kind->player().backward({.complete = [](std::size_t, const Tensor&) {},
                               .start_sum = [&](const Tensor& buffer) { return model->start_sum(buffer); },
                               .share_use = [&] { return model->share_use(); }});
    } else {
      std::vector<Tensor> before(parameters.size());
      if (kind != nullptr) {
        kind->begin({.batch = {x, y},
                     .parameters = &parameters,
                     .gradients_before = before,
                     .buffers = model->gradient_buffers(),
                     .counts_of_use = model->counts_of_use()},
                    model->buffers());
      }
      std::optional<ddp::train::Recorder> recorder;
      if (kind != nullptr) kind->watch(recorder);
      const Tensor loss = at::mse_loss(model->forward({x}).front().second, y);
      if (kind != nullptr) kind->forward_done();
      loss.backward();
      recorder.reset();
      if (kind != nullptr) kind->end({{"loss", loss}}, common);
    }
    const at::NoGradGuard no_grad;
    for (const auto& [name, parameter] : parameters) {
      if (parameter.grad().defined()) parameter.sub_((parameter.grad() + parameter * kDecay) * kLr);
    }
  }
  for (const auto& [name, parameter] : parameters) result.parameters.push_back(parameter.detach().clone());
  return result;
}

void check_ranks(int ranks, int machines) {
  CHECK(all_well(
      ranks,
      [](int, c10d::ProcessGroup& group) {
        const Group all(&group, [](c10d::ProcessGroup*) {});
        const Trained eager = train(all, false), replayed = train(all, true);
        require(replayed.replayed > kSteps / 2, "a few recordings of each length");
        require(replayed.unused == 4, "a weight and a bias of two layers are unused");
        for (std::size_t i = 0; i < eager.parameters.size(); ++i) {
          require(replayed.parameters[i].equal(eager.parameters[i]), "the bits of parameter " + std::to_string(i));
        }
      },
      machines));
}

}  // namespace

TEST_CASE("replayed steps of two ranks that use different parameters have the bits of eager ones") {
  check_ranks(2, 1);
}

TEST_CASE("a rank of several machines replays a step while another one records it") { check_ranks(4, 2); }

}  // namespace ddp::dist
