#include <ATen/ops/equal.h>
#include <ATen/ops/tensor.h>

#include "catch.h"
#include "data/batches.h"

namespace ddp::data {
namespace {

// The samples are the place itself.
class Placed : public datasets::PlacedDataset {
 public:
  datasets::Batch draw(std::int64_t batch_size, const datasets::MicroBatchPosition& place) const override {
    const at::Tensor where = at::tensor({place.step, place.micro_batch, std::int64_t{place.rank}}, at::kLong);
    return {where.expand({batch_size, 3}).contiguous(), where.expand({batch_size, 3}).contiguous()};
  }
};

}  // namespace

TEST_CASE("batches of places count micro-batches from each step's start") {
  const Placed placed;
  const auto batches = make_batches(placed, {}, {.rank = 4, .world_size = 5, .batch_size = 2}, {});
  CHECK(batches->per_epoch() == 0);
  batches->start_epoch(0, 0, 0, /*last=*/true);
  // A resumed run begins at any step.
  for (const std::int64_t step : {17, 18}) {
    batches->start_step(step);
    for (const std::int64_t micro_batch : {0, 1, 2}) {
      const datasets::Batch batch = batches->next();
      CHECK(batch.samples() == 2);
      CHECK(at::equal(batch.inputs.front().second[1], at::tensor({step, micro_batch, std::int64_t{4}}, at::kLong)));
    }
  }
}

}  // namespace ddp::data
