#include <limits>
#include <memory>
#include <thread>

#include <ATen/ops/dot.h>
#include <ATen/ops/full.h>
#include <ATen/ops/sqrt.h>
#include <ATen/ops/zeros.h>
#include <torch/csrc/autograd/variable.h>

#include "catch.h"
#include "model/numerics.h"
#include "train/gradients.h"
#include "train/step_exchange.h"
#include "train/thread_group.h"

namespace ddp::train {
namespace {

using model::all_finite;

constexpr double kNan = std::numeric_limits<double>::quiet_NaN();
constexpr double kInfinite = std::numeric_limits<double>::infinity();

}  // namespace

TEST_CASE("one NaN or infinity is found at each place of a tensor of each type") {
  for (const at::ScalarType type : {at::kFloat, at::kDouble, at::kBFloat16, at::kHalf}) {
    for (const std::int64_t size : {1, 15, 16, 17, 40}) {
      at::Tensor numbers = at::full({size}, -3.0, type);
      REQUIRE(all_finite(numbers));
      for (std::int64_t place = 0; place < size; ++place) {
        for (const double bad : {kNan, kInfinite, -kInfinite}) {
          numbers[place] = bad;
          REQUIRE_FALSE(all_finite(numbers));
        }
        numbers[place] = 0;
      }
    }
  }
  CHECK(all_finite(at::zeros({0})));
  CHECK(all_finite(at::full({3}, std::numeric_limits<float>::max())));
  CHECK_FALSE(all_finite(at::full({3, 4}, kNan).t()));
  CHECK_FALSE(all_finite(at::full({3, 4}, kNan).slice(1, 0, 2)));
}

TEST_CASE("a gradient is found during backward by the first parameter that has it, until the next call") {
  NamedTensors parameters;
  for (const char* name : {"sound", "zero", "also_zero"}) {
    parameters.emplace_back(name, at::full({3}, parameters.empty() ? 1.0 : 0.0).requires_grad_());
  }
  const auto norm_of = [&](std::size_t i) { return at::sqrt(at::dot(parameters[i].second, parameters[i].second)); };
  std::vector<std::size_t> found;
  GradientWatch watch(parameters, [&](std::size_t bad) { found.push_back(bad); });
  norm_of(0).backward();
  CHECK(found.empty());
  CHECK_FALSE(watch.take_first().has_value());
  (norm_of(0) + norm_of(2) + norm_of(1)).backward();
  REQUIRE(found.size() == 2);
  CHECK(found.back() == 1);
  CHECK(watch.take_first() == std::optional<std::size_t>(1));
  CHECK_FALSE(watch.take_first().has_value());
}

TEST_CASE("a look at the sums of all gradients finds the first parameter whose sum is not finite, of any type") {
  NamedTensors parameters;
  for (const auto& [name, type] : std::vector<std::pair<std::string, at::ScalarType>>{
           {"float", at::kFloat}, {"without", at::kFloat}, {"bf16", at::kBFloat16}, {"half", at::kHalf}}) {
    parameters.emplace_back(name, at::zeros({2, 3}, type).requires_grad_());
    if (name != "without") parameters.back().second.mutable_grad() = at::ones({2, 3}, type);
  }
  GradientWatch watch(
      parameters, [](std::size_t) { FAIL("nothing is found during backward"); }, /*at_end=*/true);
  CHECK_FALSE(watch.take_first().has_value());
  for (const double bad : {kNan, kInfinite, -kInfinite}) {
    for (const std::size_t place : {3, 2, 0}) {
      parameters[place].second.mutable_grad()[1][2] = bad;
      CHECK(watch.take_first() == std::optional<std::size_t>(place));
    }
    for (const std::size_t place : {3, 2, 0}) parameters[place].second.mutable_grad()[1][2] = 65504;
    CHECK_FALSE(watch.take_first().has_value());
  }
  watch.forget();
  CHECK_FALSE(GradientWatch(
                  {}, [](std::size_t) {}, /*at_end=*/true)
                  .take_first()
                  .has_value());
}

TEST_CASE("ranks without shared progress find a gradient in the sum of all, and the rank it came from") {
  Meeting meeting;
  std::vector<std::optional<NotFinite>> found[2];
  const auto as_rank = [&](int rank) {
    record::SharedProgress own(2);
    NamedTensors parameters;
    for (const char* name : {"sound", "bad"}) {
      parameters.emplace_back(name, at::zeros({2}));
      parameters.back().second.mutable_grad() = at::zeros({2});
    }
    const auto exchange = make_step_exchange(own, rank, std::make_shared<ThreadGroup>(meeting, rank),
                                             /*posts_late=*/false, /*as_tree=*/false, parameters);
    for (const bool bad : {false, true, false}) {
      exchange->begin(1);
      exchange->post({.sum = 1, .weight = 1, .samples = 1});
      if (bad && rank == 1) exchange->gradient_not_finite(1);
      parameters[1].second.mutable_grad() = at::full({2}, bad ? kInfinite : 1.0);
      found[rank].push_back(exchange->not_finite());
    }
  };
  std::thread other(as_rank, 1);
  as_rank(0);
  other.join();
  for (const auto& of_rank : found) {
    CHECK_FALSE(of_rank[0].has_value());
    CHECK_FALSE(of_rank[2].has_value());
    REQUIRE(of_rank[1].has_value());
    CHECK(of_rank[1]->rank == 1);
    CHECK(of_rank[1]->parameter == std::optional<std::size_t>(1));
  }
}

namespace {

const NamedTensors kUnwatched;

}  // namespace

TEST_CASE("ranks that post after backward agree whose loss or gradient is not finite, in any order of arrival") {
  record::SharedProgress shared(2);
  for (std::int64_t step = 1; step <= 2000; ++step) {
    const bool broken = step % 3 == 0;
    const bool of_gradient = step % 6 == 0;
    std::optional<NotFinite> seen[2];
    const auto as_rank = [&](int rank) {
      const auto exchange =
          make_step_exchange(shared, rank, nullptr, /*posts_late=*/true, /*as_tree=*/false, kUnwatched);
      const bool bad = broken && rank == 1;
      exchange->begin(step);
      if (bad && of_gradient) exchange->gradient_not_finite(7);
      const double loss = bad && !of_gradient ? std::numeric_limits<double>::quiet_NaN() : 1.5;
      exchange->post({.sum = loss, .weight = 3, .samples = 3});
      seen[rank] = exchange->not_finite();
    };
    std::thread other(as_rank, 1);
    as_rank(0);
    other.join();
    for (const auto& one : seen) {
      REQUIRE(one.has_value() == broken);
      if (!broken) continue;
      REQUIRE(one->rank == 1);
      REQUIRE(one->parameter == (of_gradient ? std::optional<std::size_t>(7) : std::nullopt));
    }
  }
}

TEST_CASE("the losses of all ranks are summed in rank order over their samples") {
  record::SharedProgress shared(2);
  const auto first = make_step_exchange(shared, 0, nullptr, /*posts_late=*/false, /*as_tree=*/false, kUnwatched);
  const auto second = make_step_exchange(shared, 1, nullptr, /*posts_late=*/false, /*as_tree=*/false, kUnwatched);
  LossSum loss;
  loss.add(0.5, 4);
  first->begin(1);
  second->begin(1);
  first->post(loss);
  second->post({.sum = 6, .weight = 2, .samples = 2});
  CHECK_FALSE(first->not_finite());
  CHECK(first->collect().samples == 6);
  CHECK(first->collect().mean() == 8.0 / 6);
}

}  // namespace ddp::train
