#include <ATen/Context.h>

#include "catch.h"
#include "errors.h"
#include "models/activations.h"
#include "models/model.h"
#include "values.h"
#include "words.h"

namespace ddp::models {
namespace {

using Json = nlohmann::json;

constexpr std::uint64_t kSeed = 3;  // the seed of compute.py

torch::nn::AnyModule made(const Json& options) {
  at::manual_seed(kSeed);
  return registry().build(options.at("name"), options, Placement{.devices = {c10::kCPU, c10::kCPU}});
}

// Returns the names of the tensors that differ from the kept ones.
template <class Named>
std::string differences(const Named& found, const Json& kept) {
  std::string wrong;
  for (const auto& item : found) {
    if (!kept.contains(item.key()) || !same_bits(item.value().detach(), kept_tensor(kept.at(item.key())))) {
      wrong += item.key() + " ";
    }
  }
  return found.size() == kept.size() ? wrong : wrong + "and as many as " + std::to_string(found.size());
}

void check_cases(const std::string& file, std::size_t number) {
  const Json cases = kept_values("models", file);
  REQUIRE(cases.size() == number);
  for (const auto& [title, kept] : cases.items()) {
    INFO(title);
    torch::nn::AnyModule model = made(kept.at("options"));
    CHECK(differences(model.ptr()->named_parameters(), kept.at("parameters")).empty());
    CHECK(differences(model.ptr()->named_buffers(), kept.at("buffers")).empty());
    const at::Tensor input = ramp(kept.at("input"));
    CHECK(nearly_same(model.forward(input).detach(), kept_tensor(kept.at("trained_output"))));
    model.ptr()->eval();
    CHECK(nearly_same(model.forward(input).detach(), kept_tensor(kept.at("output"))));
    // As data_parallel copies it.
    if (file == "layers") CHECK(same_bits(model.clone().forward(input).detach(), model.forward(input).detach()));
  }
}

Json sequential(const Json& layers) { return {{"name", "sequential"}, {"layers", layers}}; }

}  // namespace

TEST_CASE("each model has PyTorch's names, shapes and initial values for a seed, bit for bit, and its outputs") {
  check_cases("models", 14);
}

TEST_CASE("each layer has PyTorch's names, shapes and initial values for a seed, bit for bit, and its outputs") {
  check_cases("layers", 36);
}

TEST_CASE("an embedding looks its rows up, and the padding row stays zero") {
  auto model =
      made(sequential({{{"type", "Embedding"}, {"num_embeddings", 4}, {"embedding_dim", 3}, {"padding_idx", 1}}}));
  const at::Tensor rows = model.ptr()->named_parameters()["0.weight"].detach();
  const at::Tensor output = model.forward(ramp({3}).mul(0).to(at::kLong)).detach();
  CHECK(same_bits(output[2], rows[0]));
  CHECK(rows[1].eq(0).all().item<bool>());
  CHECK(rows[0].ne(0).any().item<bool>());
}

TEST_CASE("activations are found by the names that options accept, sorted, and others are refused") {
  CHECK(activation_names() == std::vector<std::string>{"gelu", "leaky_relu", "relu", "sigmoid", "silu", "tanh"});
  for (const auto& name : activation_names()) CHECK_NOTHROW(make_activation(name));
  CHECK(error_of([] { make_activation("ReLU"); }) == "unknown activation \"ReLU\"");
}

TEST_CASE("a layer that PyTorch refuses is reported with its place in the file") {
  const Json refused = {{{"type", "Identity"}},
                        {{"type", "Embedding"}, {"num_embeddings", 4}, {"embedding_dim", 3}, {"padding_idx", 9}}};
  CHECK(contains(error_of([&] { made(sequential(refused)); }), "model.layers[1] Embedding: Padding_idx"));
  const Json sizes = {{{"type", "MaxPool2d"}, {"kernel_size", {1, 2, 3}}}};
  CHECK(contains(error_of([&] { made(sequential(sizes)); }), "needs an integer or a list of 2"));
  CHECK(contains(error_of([&] { made(sequential(Json::array())); }), "sequential needs at least one layer"));
}

}  // namespace ddp::models
