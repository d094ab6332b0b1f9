#include <limits>
#include <thread>

#include "catch.h"
#include "train/step_exchange.h"

namespace ddp::train {

TEST_CASE("ranks that post their loss after backward agree which of them is not finite, in any order of arrival") {
  record::SharedProgress shared(2);
  for (std::int64_t step = 1; step <= 2000; ++step) {
    const bool broken = step % 3 == 0;
    std::optional<int> seen[2];
    const auto as_rank = [&](int rank) {
      const auto exchange = make_step_exchange(shared, rank, nullptr, /*posts_late=*/true);
      const double loss = broken && rank == 1 ? std::numeric_limits<double>::quiet_NaN() : 1.5;
      exchange->post(step, {.sum = loss, .weight = 3, .samples = 3});
      seen[rank] = exchange->not_finite();
    };
    std::thread other(as_rank, 1);
    as_rank(0);
    other.join();
    REQUIRE(seen[0] == (broken ? std::optional<int>(1) : std::nullopt));
    REQUIRE(seen[1] == seen[0]);
  }
}

TEST_CASE("the losses of all ranks are summed in rank order over their samples") {
  record::SharedProgress shared(2);
  const auto first = make_step_exchange(shared, 0, nullptr, /*posts_late=*/false);
  const auto second = make_step_exchange(shared, 1, nullptr, /*posts_late=*/false);
  LossSum loss;
  loss.add(0.5, 4);
  first->post(1, loss);
  second->post(1, {.sum = 6, .weight = 2, .samples = 2});
  CHECK_FALSE(first->not_finite());
  CHECK(first->collect().samples == 6);
  CHECK(first->collect().mean() == 8.0 / 6);
}

}  // namespace ddp::train
