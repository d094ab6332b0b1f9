#include <ATen/ops/equal.h>
#include <ATen/ops/ones_like.h>

#include <ATen/ops/zeros.h>

#include "catch.h"
#include "errors.h"
#include "thread_group.h"
#include "train/optim/grouped_optimizer.h"
#include "values.h"
#include "words.h"

namespace ddp::train {
namespace {

NamedTensors four_parameters() {
  return {{"0.weight", ramp({3, 2}).requires_grad_()},
          {"0.bias", ramp({3}).requires_grad_()},
          {"3.weight", ramp({4, 3}).requires_grad_()},
          {"3.bias", ramp({4}).requires_grad_()}};
}

config::Experiment with_groups(const config::Value& groups) {
  config::Experiment e;
  e.optimizer = {.name = "sgd", .options = {{"lr", 0.5}}};
  e.groups = groups;
  return e;
}

std::string refusal_of(const config::Value& groups) {
  return error_of([&] { GroupedOptimizer(with_groups(groups), four_parameters()); });
}

config::Experiment with_layers(const config::Value& layers, double decay = 0.5) {
  config::Experiment e = with_groups(config::Value::array());
  e.optimizer.options = {{"lr", 1.0}, {"layers", layers}, {"layer_decay", decay}};
  return e;
}

NamedTensors parameters_named(const std::vector<std::string>& names) {
  NamedTensors parameters;
  for (const std::string& name : names) parameters.emplace_back(name, at::zeros({2}).requires_grad_());
  return parameters;
}

using Factors = std::vector<double>;

// Returns the factor of lr of each parameter: what a step with lr 1 and gradients of 1 takes from it.
Factors factors_of(const config::Experiment& e, const NamedTensors& parameters) {
  GroupedOptimizer optimizer(e, parameters);
  for (const auto& [name, parameter] : parameters) parameter.mutable_grad() = at::ones_like(parameter);
  optimizer.step(1);
  Factors factors;
  for (const auto& [name, parameter] : parameters) factors.push_back(-parameter.detach()[0].item<double>());
  return factors;
}

}  // namespace

TEST_CASE("a parameter belongs to the first group that matches, and without a match to the last group") {
  const config::Value groups = {{{"match", "0.*"}, {"lr_scale", 0.5}},
                                {{"match", {"3.weight", "ndim<2"}}, {"momentum", 0.9}}};
  const auto list = GroupedOptimizer(with_groups(groups), four_parameters()).description();
  REQUIRE(list.size() == 3);
  CHECK(list[0].tensors == 2);
  CHECK(list[0].parameters == 9);
  CHECK(list[0].lr_scale == 0.5);
  CHECK(list[1].tensors == 2);
  CHECK(list[1].parameters == 16);
  CHECK(list[1].options == config::Value{{"momentum", 0.9}});
  CHECK(list[2].tensors == 0);
  CHECK(list[2].match.empty());
  CHECK(GroupedOptimizer(with_groups(config::Value::array()), four_parameters()).description().empty());
}

TEST_CASE("lr_scale multiplies the learning rate of each step, and state keeps the parameters' names") {
  const NamedTensors parameters = four_parameters();
  GroupedOptimizer optimizer(with_groups({{{"match", "*.bias"}, {"lr_scale", 0.5}, {"momentum", 0.9}}}), parameters);
  for (const auto& [name, tensor] : parameters) tensor.mutable_grad() = at::ones_like(tensor);
  optimizer.step(0.25);
  CHECK(optimizer.lr() == 0.5);
  CHECK(same_bits(parameters[0].second.detach(), ramp({3, 2}) - 0.25));
  CHECK(same_bits(parameters[1].second.detach(), ramp({3}) - 0.125));
  const NamedTensors state = optimizer.state();
  REQUIRE(state.size() == 2);
  CHECK(state[0].first == "state.0.bias.momentum_buffer");
  CHECK(optimizer.bytes() == 7 * 4);
  // Other groups with the same kind of state take it over.
  GroupedOptimizer other(with_groups({{{"match", "0.bias"}, {"momentum", 0.5}}, {{"match", "3.*"}, {"momentum", 0.9}}}),
                         four_parameters());
  other.load(state);
  CHECK(other.state().size() == 2);
  GroupedOptimizer plain(with_groups(config::Value::array()), four_parameters());
  CHECK(contains(error_of([&] { plain.load(state); }), "which this optimizer does not keep"));
}

TEST_CASE("patterns that match no free parameter are refused, with the nearest name or the group that has them") {
  CHECK(contains(refusal_of({{{"match", "0.wieght"}}}), "\"0.wieght\" matches no parameter of the model"));
  CHECK(contains(refusal_of({{{"match", "0.wieght"}}}), "did you mean \"0.weight\"?"));
  CHECK(contains(refusal_of({{{"match", "layer1.*"}}}), "such as \"0.weight\""));
  CHECK(contains(refusal_of({{{"match", "ndim>4"}}}), "\"ndim>4\" matches no parameter"));
  const std::string taken = refusal_of({{{"match", "ndim<2"}}, {{"match", {"3.*", "0.bias"}}}});
  CHECK(contains(taken, "\"0.bias\" matches belongs to an earlier group already, such as groups[0]"));
}

TEST_CASE("a group with an optimizer of its own steps with the same share of its own lr") {
  const NamedTensors parameters = four_parameters();
  const std::vector<at::Tensor> before = {parameters[0].second.detach().clone(), parameters[1].second.detach().clone()};
  GroupedOptimizer optimizer(with_groups({{{"match", "*.bias"}, {"optimizer", "sgd"}, {"lr", 2.0}}}), parameters);
  for (const auto& [name, parameter] : parameters) parameter.mutable_grad() = at::ones_like(parameter);
  optimizer.step(0.25);  // half of the top lr
  CHECK(at::equal(parameters[0].second.detach(), before[0] - 0.25));
  CHECK(at::equal(parameters[1].second.detach(), before[1] - 1));
  CHECK(optimizer.description()[0].options["optimizer"] == "sgd");
}

TEST_CASE("lr falls from the last layer to the first, and numbers order layers, as in timm") {
  // The layers of timm 1.0.31 by VisionTransformer.group_matcher(): 0 0 0 1 2 4 3 4 5.
  const NamedTensors vit =
      parameters_named({"cls_token", "pos_embed", "patch_embed.weight", "blocks.0.attn.weight", "blocks.1.attn.weight",
                        "blocks.10.attn.weight", "blocks.2.attn.weight", "norm.weight", "head.weight"});
  const config::Experiment of_vit = with_layers({"cls_token|pos_embed|patch_embed", "blocks.*|norm", "head"});
  CHECK(factors_of(of_vit, vit) == Factors{0.03125, 0.03125, 0.03125, 0.0625, 0.125, 0.5, 0.25, 0.5, 1});
  const GroupedOptimizer optimizer(of_vit, vit);
  CHECK(optimizer.description().empty());
  CHECK(optimizer.without_layer().empty());
  REQUIRE(optimizer.layers().size() == 6);
  CHECK(optimizer.layers()[4].match == std::vector<std::string>{"blocks.10", "norm"});
  CHECK(optimizer.layers()[4].lr_scale == 0.5);
  CHECK(optimizer.layers()[4].parameters == 4);
  // By ResNet.group_matcher(): 0 0 1 2 3 3 4.
  const NamedTensors resnet =
      parameters_named({"conv1.weight", "bn1.weight", "layer1.0.conv1.weight", "layer1.1.conv1.weight",
                        "layer2.0.conv1.weight", "layer2.0.bn1.weight", "fc.weight"});
  CHECK(factors_of(with_layers({"conv1|bn1", "layer*.*", "fc"}), resnet) ==
        Factors{0.0625, 0.0625, 0.125, 0.25, 0.5, 0.5, 1});
}

TEST_CASE("a pattern of a layer matches whole parts of names; the first match counts, and none is the first layer") {
  const NamedTensors all =
      parameters_named({"stem.weight", "stem2.weight", "a.1.weight", "a.x.weight", "b.1.c.weight", "b.1.weight"});
  const config::Experiment e = with_layers({"stem", "a.*", "b.*.c", "b"});
  CHECK(factors_of(e, all) == Factors{0.125, 0.125, 0.25, 0.125, 0.5, 1});
  all[1].second.requires_grad_(false);
  CHECK(GroupedOptimizer(e, all).without_layer() == std::vector<std::string>{"a.x.weight"});
  CHECK(GroupedOptimizer(e, all).layers()[0].tensors == 2);
  // A tied parameter is of the first layer that one of its names belongs to.
  NamedTensors tied = parameters_named({"a.weight", "b.weight"});
  tied.emplace_back("c.weight", tied[0].second);
  CHECK(factors_of(with_layers({"c", "b"}), tied) == Factors{0.5, 1, 0.5});
}

TEST_CASE("a layer's factor multiplies that of a group, also of one with an optimizer of its own") {
  config::Experiment e = with_layers({"0", "3"});
  e.groups = {{{"match", "*.bias"}, {"lr_scale", 0.25}}, {{"match", "3.weight"}, {"optimizer", "sgd"}, {"lr", 2.0}}};
  const NamedTensors all = parameters_named({"0.weight", "0.bias", "3.weight", "3.bias"});
  CHECK(factors_of(e, all) == Factors{0.5, 0.125, 2, 0.25});
  const auto list = GroupedOptimizer(e, all).description();
  REQUIRE(list.size() == 3);
  CHECK(list[0].tensors == 2);
  CHECK(list[0].lr_scale == 0.25);
  CHECK(list[2].parameters == 2);
  CHECK(factors_of(with_layers({"0", "3"}, 1), parameters_named({"0.weight", "3.weight"})) == Factors{1, 1});
}

TEST_CASE("a layer that matches nothing new is refused, with the nearest beginning of a name") {
  const auto refused = [](const config::Value& layers) {
    const NamedTensors all = parameters_named({"stem.conv.weight", "blocks.0.weight", "blocks.1.weight"});
    return error_of([&] { GroupedOptimizer(with_layers(layers), all); });
  };
  CHECK(contains(refused({"stem", "block.*"}), "optimizer.layers[1]: \"block.*\" matches no parameter of the model"));
  CHECK(contains(refused({"stem", "block.*"}), "did you mean \"blocks.*\"? * stands for one number"));
  CHECK(contains(refused({"stem|stm.conv", "blocks"}), "did you mean \"stem.conv\"?"));
  CHECK(contains(refused({"stem|", "blocks.*"}), "\"\" matches no parameter"));
  CHECK(contains(refused({"blocks", "blocks.0"}), "belongs to an earlier layer already, such as optimizer.layers[0]"));
}

TEST_CASE("muon refuses a parameter that is not a matrix, alone and in a group") {
  config::Experiment alone = with_groups(config::Value::array());
  alone.optimizer = {.name = "muon", .options = config::Value::object()};
  CHECK(contains(error_of([&] { GroupedOptimizer(alone, four_parameters()); }), "\"0.bias\" has the shape [3]"));
  const std::string of_group = refusal_of({{{"match", "*"}, {"optimizer", "muon"}}});
  CHECK(contains(of_group, "groups[0]: muon updates matrices"));
}

TEST_CASE("a tied parameter belongs to one group, by any of its names") {
  NamedTensors parameters = four_parameters();
  parameters.emplace_back("head.weight", parameters[2].second);
  const auto list = GroupedOptimizer(with_groups({{{"match", "head.*"}, {"momentum", 0.9}}}), parameters).description();
  CHECK(list[0].parameters == 12);
  CHECK(list[1].tensors == 3);
}

TEST_CASE("a divided optimizer refuses saved state of another type, as a whole one does") {
  Meeting meeting;
  const auto group = std::make_shared<ThreadGroup>(meeting, 0);
  config::Experiment e = with_groups(config::Value::array());
  e.optimizer.options["momentum"] = 0.9;
  for (const Division& division : {Division{}, Division{.group = group}}) {
    GroupedOptimizer optimizer(e, four_parameters(), division);
    const std::string key = "state.0.weight.momentum_buffer";
    CHECK(contains(error_of([&] { optimizer.load({{key, ramp({3, 2}).to(at::kDouble)}}); }), "does not keep"));
    optimizer.load({{key, ramp({3, 2})}});
  }
}

}  // namespace ddp::train
