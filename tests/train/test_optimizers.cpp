#include <ATen/ops/full.h>
#include <ATen/ops/zeros.h>

#include "catch.h"
#include "errors.h"
#include "train/optim/optimizer.h"
#include "values.h"
#include "words.h"

namespace ddp::train {
namespace {

using Json = nlohmann::json;

// The training of compute.py: "late" has no gradient in the first two steps.
struct Trained {
  explicit Trained(const Json& options) {
    for (const auto& [name, shape] : std::vector<std::pair<std::string, std::vector<std::int64_t>>>{
             {"weight", {19}}, {"bias", {3}}, {"late", {2, 2}}}) {
      parameters.emplace_back(name, ramp(shape, 2).requires_grad_());
    }
    optimizer = optimizers().build(options.at("name"), options, parameters);
  }

  void steps(int first, int end) {
    for (int step = first; step < end; ++step) {
      for (auto& [name, parameter] : parameters) {
        const bool has_gradient = name != "late" || step >= 2;
        parameter.mutable_grad() = has_gradient ? ramp(parameter.sizes().vec(), 3 * step) : at::Tensor();
      }
      optimizer->step(optimizer->lr() / (step + 1));
    }
  }

  NamedTensors parameters;
  std::unique_ptr<Optimizer> optimizer;
};

constexpr int kSteps = 6;

// Returns the names of the tensors that differ from the kept ones.
std::string differences(const NamedTensors& found, const Json& kept) {
  std::string wrong;
  for (const auto& [name, tensor] : found) {
    if (!kept.contains(name) || !same_but_for_roots(tensor.detach(), kept_tensor(kept.at(name)))) wrong += name + " ";
  }
  return found.size() == kept.size() ? wrong : wrong + "and as many as " + std::to_string(found.size());
}

const Json kMomentum = {{"name", "sgd"}, {"lr", 0.1}, {"momentum", 0.9}, {"fused", true}};
const Json kAdam = {{"name", "adam"}, {"lr", 0.1}, {"fused", true}};

}  // namespace

TEST_CASE("each optimizer, fused and as a loop, gives PyTorch's parameters and state, bit for bit") {
  const Json cases = kept_values("train", "optimizers");
  REQUIRE(cases.size() == 45);
  for (const auto& [title, kept] : cases.items()) {
    INFO(title);
    Trained trained(kept.at("options"));
    trained.steps(0, kSteps);
    CHECK(differences(trained.parameters, kept.at("parameters")).empty());
    CHECK(differences(trained.optimizer->state(), kept.at("state")).empty());
  }
}

TEST_CASE("an optimizer that loads the state of another continues like that one") {
  const Json cases = kept_values("train", "optimizers");
  for (const auto& [title, kept] : cases.items()) {
    INFO(title);
    Trained before(kept.at("options"));
    before.steps(0, 4);
    Trained after(kept.at("options"));
    for (std::size_t i = 0; i < after.parameters.size(); ++i) {
      const at::NoGradGuard no_grad;
      after.parameters[i].second.copy_(before.parameters[i].second);
    }
    after.optimizer->load(before.optimizer->state());
    after.steps(4, kSteps);
    CHECK(differences(after.parameters, kept.at("parameters")).empty());
    CHECK(differences(after.optimizer->state(), kept.at("state")).empty());
  }
}

TEST_CASE("a parameter that is frozen or never had a gradient stays unchanged and has no state") {
  const at::Tensor frozen = ramp({3});
  const at::Tensor idle = ramp({3}).requires_grad_();
  const auto optimizer = optimizers().build("adam", kAdam, {{"frozen", frozen}, {"idle", idle}});
  optimizer->step(0.1);
  CHECK(same_bits(frozen, ramp({3})));
  CHECK(same_bits(idle.detach(), ramp({3})));
  CHECK(optimizer->state().empty());
}

TEST_CASE("an optimizer reports the bytes of its state") {
  const auto bytes = [](Json options, const Json& more) {
    options.update(more);
    return Trained(options).optimizer->bytes();
  };
  constexpr std::int64_t kParameters = (19 + 3 + 4) * sizeof(float);
  CHECK(bytes(kMomentum, {{"momentum", 0.0}}) == 0);
  CHECK(bytes(kMomentum, Json::object()) == kParameters);
  CHECK(bytes(kAdam, Json::object()) == 2 * kParameters);
  CHECK(bytes(kAdam, {{"amsgrad", true}}) == 3 * kParameters);
  // A row and a column of the 2 x 2 parameter, which together have as many numbers here.
  CHECK(bytes({{"name", "adafactor"}}, Json::object()) == kParameters);
}

TEST_CASE("state that does not fit the optimizer or its parameters is refused with the remedy") {
  Trained trained(kMomentum);
  const auto refusal = [&](const NamedTensors& state) { return error_of([&] { trained.optimizer->load(state); }); };
  const std::string remedy = "use the optimizer and model that it was saved with";
  for (const char* name : {"state.weight.exp_avg", "state.other.momentum_buffer", "weight", "nothing.of.ours"}) {
    INFO(name);
    const std::string text = refusal({{name, at::zeros({19})}});
    CHECK(contains(text, "has \"" + std::string(name) + "\", which this optimizer does not keep for this model"));
    CHECK(contains(text, remedy));
  }
  CHECK(contains(refusal({{"state.weight.momentum_buffer", at::zeros({18})}}), remedy));
  CHECK(contains(refusal({{"state.weight.momentum_buffer", at::zeros({19}, at::kDouble)}}), remedy));
  Trained adam(kAdam);
  CHECK(contains(error_of([&] {
                   adam.optimizer->load({{"state.weight.step", at::zeros({})}});
                 }),
                 "lacks some of this optimizer's state of \"weight\""));
}

TEST_CASE("adagrad has state from the beginning and replaces it by a checkpoint's state") {
  Trained trained({{"name", "adagrad"}, {"initial_accumulator_value", 0.5}});
  REQUIRE(trained.optimizer->state().size() == 6);
  CHECK(trained.optimizer->lr() == 0.01);
  CHECK(trained.optimizer->bytes() == (19 + 3 + 4) * sizeof(float));
  trained.optimizer->load({{"state.bias.step", at::full({}, 7.0F)}, {"state.bias.sum", ramp({3})}});
  for (const auto& [name, tensor] : trained.optimizer->state()) {
    if (name == "state.bias.sum") CHECK(same_bits(tensor, ramp({3})));
    if (name == "state.weight.sum") CHECK(same_bits(tensor, at::full({19}, 0.5F)));
  }
}

TEST_CASE("Nesterov without momentum, or with dampening, is refused") {
  for (const Json& options : {Json{{"name", "sgd"}, {"nesterov", true}},
                              Json{{"name", "sgd"}, {"nesterov", true}, {"momentum", 0.9}, {"dampening", 0.1}}}) {
    CHECK(contains(error_of([&] { optimizers().build("sgd", options, {}); }), "nesterov needs a momentum"));
  }
}

}  // namespace ddp::train
