#include <atomic>
#include <chrono>
#include <filesystem>
#include <stdexcept>
#include <thread>

#include <ATen/Context.h>
#include <ATen/ops/arange.h>
#include <ATen/ops/equal.h>
#include <ATen/ops/rand.h>
#include <ATen/ops/tensor.h>

#include "base/error.h"
#include "catch.h"
#include "data/batches.h"

namespace ddp::data {
namespace {

// Sample i is the number i. Counts the calls of gather and can fail.
class Numbers : public datasets::MapDataset {
 public:
  explicit Numbers(std::int64_t size, std::int64_t broken = -1) : size_(size), broken_(broken) {}
  std::int64_t size() const override { return size_; }
  datasets::Batch gather(const at::Tensor& indices, std::int64_t) const override {
    ++asked;
    if (indices.eq(broken_).any().item<bool>()) throw std::runtime_error("sample " + std::to_string(broken_));
    return {indices.to(at::kFloat), indices.clone()};
  }
  mutable std::atomic<int> asked = 0;

 private:
  const std::int64_t size_;
  const std::int64_t broken_;
};

std::unique_ptr<Batches> batches_of(const Numbers& numbers, std::int64_t workers) {
  config::Loader loader;
  loader.workers = workers;
  return make_batches(numbers, at::arange(numbers.size(), at::kLong), {.batch_size = 7}, loader);
}

void start_epoch(Batches& batches, std::int64_t epoch, std::int64_t position = 0, std::int64_t done = 0) {
  batches.start_epoch(epoch, position, done, /*last=*/false);
}

std::vector<at::Tensor> epoch_of(Batches& batches, std::int64_t epoch, std::int64_t position = 0) {
  start_epoch(batches, epoch, position);
  std::vector<at::Tensor> list;
  while (position++ < batches.per_epoch()) list.push_back(batches.next().targets.front().second);
  return list;
}

std::ptrdiff_t threads() {
  return std::distance(std::filesystem::directory_iterator("/proc/self/task"), std::filesystem::directory_iterator());
}

// Waits for a condition that other threads bring about.
template <class Fact>
bool comes_true(const Fact& fact) {
  const auto deadline = std::chrono::steady_clock::now() + std::chrono::seconds(60);
  while (!fact() && std::chrono::steady_clock::now() < deadline) std::this_thread::yield();
  return fact();
}

// The samples are the place itself.
class Placed : public datasets::DrawnDataset {
 public:
  datasets::Batch draw(std::int64_t batch_size, const datasets::MicroBatchPosition& place) const override {
    const at::Tensor where = at::tensor({place.step, place.micro_batch, std::int64_t{place.rank}}, at::kLong);
    return {where.expand({batch_size, 3}).contiguous(), where.expand({batch_size, 3}).contiguous()};
  }
};

}  // namespace

TEST_CASE("batches fetched by workers come in the order in which one thread fetches them") {
  const Numbers numbers(100);
  for (const std::int64_t workers : {1, 2, 5}) {
    const auto alone = batches_of(numbers, 0);
    const auto fetched = batches_of(numbers, workers);
    for (const std::int64_t position : {0, 0, 4, 14}) {
      const auto expected = epoch_of(*alone, 3, position);
      const auto got = epoch_of(*fetched, 3, position);
      REQUIRE(got.size() == expected.size());
      for (std::size_t i = 0; i < got.size(); ++i) CHECK(at::equal(got[i], expected[i]));
    }
  }
}

TEST_CASE("workers prefetch at most two batches each") {
  const Numbers numbers(1000);
  const auto batches = batches_of(numbers, 3);
  start_epoch(*batches, 0);
  int most_ahead = 0;
  for (int taken = 1; taken <= batches->per_epoch(); ++taken) {
    batches->next();
    if (taken == 1) CHECK(comes_true([&] { return numbers.asked == 7; }));
    // The threads reach their largest lead while the next batch is awaited.
    std::this_thread::yield();
    most_ahead = std::max(most_ahead, numbers.asked - taken);
  }
  CHECK(most_ahead == 6);
}

TEST_CASE("an exception of a worker is thrown where its batch is requested") {
  const Numbers numbers(100, /*broken=*/42);
  const auto batches = batches_of(numbers, 3);
  CHECK_THROWS_WITH(epoch_of(*batches, 0), "sample 42");
}

TEST_CASE("an epoch that is abandoned early leaves no thread") {
  const Numbers numbers(1000);
  const auto before = threads();
  {
    const auto batches = batches_of(numbers, 4);
    start_epoch(*batches, 0);
    batches->next();
    start_epoch(*batches, 1);
    batches->next();
    CHECK(threads() > before);
  }
  // A joined thread stays listed for a moment.
  CHECK(comes_true([&] { return threads() == before; }));
}

TEST_CASE("no order is drawn in advance for an epoch that never comes") {
  const Numbers numbers(4'000'000);
  const auto batches = batches_of(numbers, 0);
  const auto before = threads();
  batches->start_epoch(0, 0, 0, /*last=*/true);
  CHECK(threads() == before);
  start_epoch(*batches, 0);
  CHECK(threads() > before);
}

TEST_CASE("an order drawn in advance belongs to its epoch, also where epochs are skipped or resumed") {
  // Enough samples that the next epoch's order is drawn during the epoch.
  const Numbers numbers(70'000);
  config::Loader loader;
  loader.workers = 0;
  const auto begun = [&](Batches& batches, std::int64_t epoch, std::int64_t position, std::int64_t done) {
    start_epoch(batches, epoch, position, done);
    return batches.next().targets.front().second;
  };
  const auto make = [&] {
    return make_batches(numbers, at::arange(numbers.size(), at::kLong), {.batch_size = 1000}, loader);
  };
  const auto one = make();
  struct Place {
    std::int64_t epoch, position, done;
  };
  for (const auto& [epoch, position, done] :
       std::vector<Place>{{0, 0, 0}, {1, 0, 0}, {2, 5, 0}, {2, 5, 0}, {7, 0, 0}, {8, 3, 2000}, {8, 0, 0}, {9, 0, 0}}) {
    INFO(epoch << " " << position << " " << done);
    CHECK(at::equal(begun(*one, epoch, position, done), begun(*make(), epoch, position, done)));
  }
}

TEST_CASE("random_batch draws new samples for each batch or keeps its first samples") {
  const auto dataset = [](const config::Value& options) {
    return datasets::registry().build("random_batch", options, {});
  };
  const auto draw = [](const datasets::Dataset& from, std::int64_t size) {
    return dynamic_cast<const datasets::DrawnDataset&>(from).draw(size, {}).inputs.front().second;
  };
  const auto anew = dataset(config::Value::object());
  CHECK_FALSE(at::equal(draw(*anew, 4), draw(*anew, 4)));
  const auto kept = dataset({{"keep", 8}});
  CHECK(at::equal(draw(*kept, 8), draw(*kept, 8)));
  CHECK(at::equal(draw(*kept, 3), draw(*kept, 8).narrow(0, 0, 3)));
  CHECK_THROWS_AS(draw(*kept, 9), Error);
}

TEST_CASE("an epoch draws one number from the generator with its first batch and none when it resumes inside") {
  const Numbers numbers(30);
  const auto batches = batches_of(numbers, 2);
  const auto draw_after = [&](std::int64_t position) {
    at::manual_seed(9);
    epoch_of(*batches, 0, position);
    return at::rand({1}).item<float>();
  };
  at::manual_seed(9);
  const float first = at::rand({1}).item<float>();
  CHECK(draw_after(2) == first);
  CHECK(draw_after(0) != first);
  at::manual_seed(9);
  start_epoch(*batches, 0);
  CHECK(at::rand({1}).item<float>() == first);
}

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
