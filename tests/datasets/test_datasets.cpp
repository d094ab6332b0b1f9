#include <ATen/Context.h>
#include <ATen/ops/equal.h>
#include <ATen/ops/tensor.h>

#include "catch.h"
#include "datasets/dataset.h"
#include "errors.h"
#include "values.h"
#include "words.h"

namespace ddp::datasets {
namespace {

const at::Tensor& input_of(const Batch& batch) { return batch.inputs.at(0).second; }
const at::Tensor& target_of(const Batch& batch) { return batch.targets.at(0).second; }

using Json = nlohmann::json;

constexpr std::uint64_t kSeed = 3;  // the seed of compute.py

std::unique_ptr<Dataset> made(const std::string& name, const Json& options) {
  at::manual_seed(kSeed);
  return registry().build(name, options, Context{});
}

Batch samples_of(const Dataset& dataset, const std::vector<std::int64_t>& indices) {
  return dynamic_cast<const MapDataset&>(dataset).gather(at::tensor(indices, at::kLong), /*epoch=*/0);
}

}  // namespace

TEST_CASE("datasets that draw their samples draw the same bits as PyTorch") {
  const Json cases = kept_values("datasets", "samples");
  REQUIRE(cases.size() == 4);
  for (const auto& [title, kept] : cases.items()) {
    INFO(title);
    const auto dataset = made(kept.at("name"), kept.at("options"));
    Batch batch;
    if (kept.contains("indices")) {
      batch = samples_of(*dataset, kept.at("indices"));
    } else {
      for (int i = 0; i < kept.at("batches"); ++i) {
        batch = dynamic_cast<const DrawnDataset&>(*dataset).draw(kept.at("batch_size"), {});
      }
    }
    CHECK(same_bits(input_of(batch), kept_tensor(kept.at("inputs"))));
    CHECK(same_bits(target_of(batch), kept_tensor(kept.at("targets"))));
  }
}

TEST_CASE("random_batch with samples to keep gives the same ones in every batch and never more than it keeps") {
  const auto dataset = made("random_batch", {{"keep", 4}});
  const auto& drawn = dynamic_cast<const DrawnDataset&>(*dataset);
  const Batch first = drawn.draw(4, {});
  CHECK(at::equal(input_of(drawn.draw(4, {})), input_of(first)));
  CHECK(at::equal(target_of(drawn.draw(2, {})), target_of(first).narrow(0, 0, 2)));
  CHECK(contains(error_of([&] { drawn.draw(5, {}); }), "keeps 4 samples, fewer than a batch of 5"));
}

TEST_CASE("sample i of counting is the number i, and its class is i modulo the classes") {
  const auto dataset = made("counting", {{"size", 100}, {"features", 3}, {"classes", 7}});
  CHECK(dynamic_cast<const MapDataset&>(*dataset).size() == 100);
  const Batch batch = samples_of(*dataset, {99, 0, 8});
  CHECK(at::equal(input_of(batch), at::tensor({99.F, 99.F, 99.F, 0.F, 0.F, 0.F, 8.F, 8.F, 8.F}).reshape({3, 3})));
  CHECK(at::equal(target_of(batch), at::tensor({1, 0, 1}, at::kLong)));
}

TEST_CASE("a batch requested by index is a new tensor at a 64-byte boundary") {
  for (const char* name : {"random_pairs", "counting"}) {
    INFO(name);
    const auto dataset = made(name, {{"size", 50}, {"features", 21}});
    const Batch batch = samples_of(*dataset, {7, 8, 9});
    CHECK(reinterpret_cast<std::uintptr_t>(input_of(batch).const_data_ptr()) % 64 == 0);
    CHECK(input_of(batch).is_contiguous());
    input_of(batch).zero_();
    CHECK(input_of(samples_of(*dataset, {7, 8, 9})).ne(0).all().item<bool>());
  }
}

}  // namespace ddp::datasets
