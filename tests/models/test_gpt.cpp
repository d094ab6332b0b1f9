#include <ATen/ops/equal.h>
#include <ATen/ops/randint.h>
#include <torch/nn/module.h>

#include "catch.h"
#include "errors.h"
#include "model/named_tensors.h"
#include "models/model.h"
#include "words.h"

namespace ddp::models {
namespace {

using Json = nlohmann::json;

torch::nn::AnyModule gpt(const Json& more = Json::object()) {
  Json options = {{"n_layer", 2}, {"n_head", 2}, {"n_embd", 8}, {"block_size", 6}, {"vocab_size", 11}};
  options.update(more);
  at::manual_seed(3);
  return registry().build("gpt", options, Placement{.devices = {c10::kCPU}});
}

}  // namespace

TEST_CASE("gpt has nanoGPT's parameters by name, and one tensor for embedding and head") {
  const auto model = gpt();
  const NamedTensors all = named(model.ptr()->named_parameters());
  const NamedTensors once = each_once(all);
  // 2 embeddings, 12 a block, 2 of the last norm; lm_head.weight is transformer.wte.weight.
  CHECK(once.size() == 2 + 2 * 12 + 2);
  REQUIRE(all.size() == once.size() + 1);
  CHECK(all.front().first == "transformer.wte.weight");
  CHECK(all.back().first == "lm_head.weight");
  CHECK(all.back().second.is_same(all.front().second));
  CHECK(all[2].first == "transformer.h.0.ln_1.weight");
  CHECK(all[4].first == "transformer.h.0.attn.c_attn.weight");
  CHECK(all[4].second.sizes() == at::IntArrayRef{24, 8});
  CHECK(each_once(named(gpt({{"bias", false}}).ptr()->named_parameters())).size() == 2 + 2 * 6 + 1);
}

TEST_CASE("gpt does not see later tokens") {
  auto model = gpt();
  model.ptr()->eval();
  at::Tensor tokens = at::randint(11, {3, 6}, at::kLong);
  const at::Tensor before = model.forward(tokens);
  CHECK(before.sizes() == at::IntArrayRef{3, 6, 11});
  tokens = tokens.clone();
  tokens.select(1, 4).fill_(0).add_(1);
  const at::Tensor after = model.forward(tokens);
  CHECK(at::equal(before.narrow(1, 0, 4), after.narrow(1, 0, 4)));
  CHECK(!at::equal(before.select(1, 5), after.select(1, 5)));
  // Fewer tokens than block_size are allowed: generation starts with them.
  CHECK(model.forward(tokens.narrow(1, 0, 2)).sizes() == at::IntArrayRef{3, 2, 11});
}

TEST_CASE("gpt refuses sizes and inputs that do not fit and says what does") {
  CHECK(contains(error_of([] { gpt({{"n_head", 3}}); }), "model.n_head: n_head = 3 does not divide n_embd = 8"));
  auto model = gpt();
  CHECK(contains(error_of([&] {
                   model.forward(at::randint(11, {1, 7}, at::kLong));
                 }),
                 "a sample has 7 tokens, but gpt takes at most 6"));
  CHECK(contains(error_of([&] { model.forward(at::rand({2, 6})); }), "gpt takes tokens"));
}

}  // namespace ddp::models
