#include <algorithm>
#include <functional>
#include <stdexcept>
#include <string>
#include <vector>

#include <ATen/Functions.h>
#include <ATen/OpMathType.h>
#include <torch/csrc/autograd/autograd.h>
#include <torch/csrc/autograd/variable.h>

#include "catch.h"
#include "dist/batch_norm.h"
#include "dist/turns.h"
#include "shared_ranks.h"
#include "words.h"

namespace ddp::dist {
namespace {

using at::Tensor;
using Tensors = std::vector<Tensor>;

// The samples of a whole batch, and the weights of its outputs in a loss.
struct NormedBatch {
  Tensor x, loss_weights;

  NormedBatch rows(std::int64_t from, std::int64_t count) const {
    return {.x = x.narrow(0, from, count).clone(x.suggest_memory_format()),
            .loss_weights = loss_weights.narrow(0, from, count)};
  }
};

NormedBatch batch_of(const std::vector<std::int64_t>& sizes, at::ScalarType type, bool channels_last = false) {
  at::manual_seed(7);
  const auto format = channels_last ? at::MemoryFormat::ChannelsLast : at::MemoryFormat::Contiguous;
  const auto drawn = at::TensorOptions(at::kDouble);
  const Tensor x = at::randn(sizes, drawn) + 1;
  return {.x = x.to(type).contiguous(format), .loss_weights = (at::randn(sizes, drawn) / x.numel()).to(type)};
}

// The sum of two batch norms, the second one with neither parameters nor running statistics. Returns the output,
// the gradients of input, weight and bias, and the running statistics.
Tensors run_norms(const NormedBatch& batch) {
  const at::AutoGradMode with_gradients(true);
  const Tensor x = batch.x.clone().requires_grad_();
  const auto parameters = at::TensorOptions(at::toOpMathType(x.scalar_type()));
  const Tensor weight = at::linspace(0.5, 1.5, x.size(1), parameters).requires_grad_();
  const Tensor bias = at::linspace(-1, 1, x.size(1), parameters).requires_grad_();
  const Tensor mean = at::zeros({x.size(1)}, parameters), variance = at::ones({x.size(1)}, parameters);
  const Tensor y = at::batch_norm(x, weight, bias, mean, variance, /*training=*/true, 0.3, 1e-3, false);
  const Tensor out = y + at::batch_norm(x, {}, {}, {}, {}, /*training=*/true, 0.1, 1e-5, false);
  const Tensors found = torch::autograd::grad({(out * batch.loss_weights).sum()}, {x, weight, bias});
  return {out.detach(), found[0], found[1], found[2], mean, variance};
}

Tensors run_synced(SyncedNorms& norms, const NormedBatch& batch) {
  const SyncedNorms::Use synced(&norms);
  return run_norms(batch);
}

Group as_group(c10d::ProcessGroup& group) {
  return {&group, [](c10d::ProcessGroup*) {}};
}

void require_close(const Tensor& found, const Tensor& expected, const std::string& what) {
  const double most = found.scalar_type() == at::kDouble ? 1e-12 : 1e-6;
  const double apart = (found - expected).abs().max().item<double>();
  require(apart <= most * std::max(1.0, expected.abs().max().item<double>()), what);
}

const std::vector<std::vector<std::int64_t>> kShapes = {{13, 5}, {13, 5, 3}, {13, 5, 4, 2}};

}  // namespace

TEST_CASE("synchronised batch norms of several ranks compute what one rank computes with the whole batch") {
  const int ranks = GENERATE(2, 3, 4);
  CHECK(all_well(ranks, [ranks](int rank, c10d::ProcessGroup& group) {
    SyncedNorms norms(as_group(group));
    for (const auto& sizes : kShapes) {
      for (const auto type : {at::kFloat, at::kDouble}) {
        const NormedBatch whole = batch_of(sizes, type, /*channels_last=*/sizes.size() == 4);
        // Ranks have 3 samples each, and the last one the rest.
        const std::int64_t from = 3 * rank, count = rank + 1 == ranks ? whole.x.size(0) - from : 3;
        const Tensors expected = run_norms(whole);
        const Tensors found = run_synced(norms, whole.rows(from, count));
        for (const std::size_t i : {0, 1}) {
          require_close(found[i], expected[i].narrow(0, from, count), "rows " + std::to_string(i));
        }
        for (const std::size_t i : {2, 3}) {
          Tensor sum = at::zeros_like(found[i]);
          for (const Tensor& one : all_gather(as_group(group), found[i])) sum += one;
          require_close(sum, expected[i], "parameter " + std::to_string(i));
        }
        for (const std::size_t i : {4, 5}) require_close(found[i], expected[i], "statistic " + std::to_string(i));
      }
    }
    require(norms.calls() == static_cast<std::int64_t>(4 * kShapes.size()), "calls");
  }));
}

TEST_CASE("synchronised batch norms have the same bits on any number of ranks that compute the logical ranks") {
  constexpr int kLogical = 4, kRows = 3;
  const int ranks = GENERATE(1, 2, 4);
  CHECK(all_well(ranks, [ranks](int rank, c10d::ProcessGroup& group) {
    for (const auto type : {at::kFloat, at::kDouble, at::kBFloat16}) {
      const NormedBatch whole = batch_of({kLogical * kRows, 5, 4, 2}, type);
      // Runs `here` logical ranks, from `first` on, in turns.
      const auto in_turns = [&](SyncedNorms& norms, int here, int first) {
        std::vector<Tensors> found(static_cast<std::size_t>(here));
        const auto work = [&](int logical) {
          found[static_cast<std::size_t>(logical)] = run_synced(norms, whole.rows(kRows * (first + logical), kRows));
        };
        if (here == 1) {
          work(0);
        } else {
          Turns turns(here, [](int) {});
          turns.run(work);
        }
        return found;
      };
      const std::vector<Tensors> expected = [&] {
        SyncedNorms alone(nullptr);
        return in_turns(alone, kLogical, 0);
      }();
      SyncedNorms norms(as_group(group));
      const int here = kLogical / ranks;
      const std::vector<Tensors> found = in_turns(norms, here, rank * here);
      for (int logical = 0; logical < here; ++logical) {
        for (std::size_t i = 0; i < found[0].size(); ++i) {
          require(found[static_cast<std::size_t>(logical)][i].equal(
                      expected[static_cast<std::size_t>(rank * here + logical)][i]),
                  "tensor " + std::to_string(i) + " of " + c10::toString(type));
        }
      }
    }
  }));
}

TEST_CASE("instance norms, batch norms in evaluation mode and those outside of a training step stay as they are") {
  SyncedNorms norms(nullptr);
  const Tensor x = at::randn({4, 5, 6}), mean = at::zeros({5}), variance = at::ones({5});
  const auto all = [&] {
    return Tensors{at::instance_norm(x, {}, {}, {}, {}, /*use_input_stats=*/true, 0.1, 1e-5, false),
                   at::batch_norm(x, {}, {}, mean, variance, /*training=*/false, 0.1, 1e-5, false)};
  };
  const Tensors expected = all();
  at::batch_norm(x, {}, {}, {}, {}, /*training=*/true, 0.1, 1e-5, false);
  const SyncedNorms::Use synced(&norms);
  const Tensors found = all();
  for (std::size_t i = 0; i < found.size(); ++i) CHECK(found[i].equal(expected[i]));
  CHECK(norms.calls() == 0);
  at::batch_norm(x, {}, {}, {}, {}, /*training=*/true, 0.1, 1e-5, false);
  CHECK(norms.calls() == 1);
}

TEST_CASE("threads that take turns run one at a time, and end together if one fails or they meet unequally often") {
  const auto meet = [](int mine) {
    const auto itself = [](const Tensor& of_all) { return of_all; };
    return Turns::of_this_thread()->meet(at::full({2}, mine, at::kLong), itself);
  };
  std::vector<int> taken;
  Turns good(3, [&](int turn) { taken.push_back(turn); });
  for (int run = 0; run < 2; ++run) {
    good.run([&](int turn) {
      for (int i = 0; i < 2; ++i) {
        if (!meet(10 * i + turn).select(1, 0).equal(at::arange(3) + 10 * i)) throw std::runtime_error("other numbers");
      }
    });
  }
  CHECK(taken == std::vector<int>{0, 1, 2, 0, 1, 2, 0, 1, 2, 0, 1, 2, 0, 1, 2, 0, 1, 2});
  CHECK(Turns::of_this_thread() == nullptr);
  // "": the run ends without an error.
  const auto error_of = [](const std::function<void(int)>& work) -> std::string {
    Turns turns(3, [](int) {});
    try {
      turns.run(work);
      return "";
    } catch (const std::exception& error) {
      return error.what();
    }
  };
  for (int odd = 0; odd < 3; ++odd) {
    for (const int meetings : {0, 2}) {
      CAPTURE(odd, meetings);
      CHECK(contains(error_of([&](int turn) {
                       for (int i = 0; i < (turn == odd ? meetings : 1); ++i) meet(turn);
                     }),
                     "different numbers of batch norms"));
    }
    CHECK(error_of([&](int turn) {
            meet(turn);
            if (turn == odd) throw std::runtime_error("mine");
            meet(turn);
          }) == "mine");
  }
}

}  // namespace ddp::dist
