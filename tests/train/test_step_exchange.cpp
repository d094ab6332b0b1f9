#include <limits>
#include <thread>

#include "catch.h"
#include "train/step_exchange.h"

namespace ddp::train {
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
      const auto exchange = make_step_exchange(shared, rank, nullptr, /*posts_late=*/true, kUnwatched);
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
  const auto first = make_step_exchange(shared, 0, nullptr, /*posts_late=*/false, kUnwatched);
  const auto second = make_step_exchange(shared, 1, nullptr, /*posts_late=*/false, kUnwatched);
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
