#include <fstream>
#include <string>

#include <ATen/Functions.h>
#include <nlohmann/json.hpp>

#include "catch.h"
#include "errors.h"
#include "graph/executor.h"
#include "graph/operators.h"
#include "graph/resolve.h"
#include "words.h"

namespace ddp::graph {
namespace {

using nlohmann::json;

json tensor(const char* name) { return {{"as_tensor", {{"name", name}}}}; }

// A graph with one node, whose first argument is the input x.
Program one_node(const std::string& target, const json& further = json::array(), const char* first = "self") {
  json inputs = {{{"name", first}, {"arg", tensor("x")}}};
  for (const json& input : further) inputs.push_back(input);
  const json node = {{"target", target}, {"inputs", inputs}, {"outputs", {tensor("y")}}, {"metadata", json::object()}};
  return {.file = "net.pt2", .graph = {{"nodes", {node}}}, .inputs = {{.value = "x"}}, .outputs = {{.value = "y"}}};
}

std::string refusal(const Program& program) {
  return error_of([&] { resolve(program, {}, {}); });
}

}  // namespace

TEST_CASE("the list of operators for people and for export_model.py is the program's") {
  std::ifstream list(std::string(DDP_SOURCE) + "/python/operators.txt");
  int functions = 0;
  for (std::string line; std::getline(list, line);) {
    std::istringstream words(line.starts_with('#') ? "" : line);
    for (std::string name; words >> name;) {
      CAPTURE(name);
      const bool is_function = name.find('.') != std::string::npos;  // of Python, on sizes
      CHECK((is_function ? arithmetic_named(name) != nullptr : is_allowed(name)));
      functions += static_cast<int>(is_function);
    }
  }
  CHECK(functions == 26);
}

TEST_CASE("a graph of model.eval() keeps its flags, and may not draw; one of model.train() is switched") {
  const auto argument = [](const char* name, const json& value) { return json{{"name", name}, {"arg", value}}; };
  const json none = {{"as_none", true}}, on = {{"as_bool", true}};
  Program norm = one_node(
      "torch.ops.aten.batch_norm.default",
      {argument("weight", none), argument("bias", none), argument("running_mean", tensor("mean")),
       argument("running_var", tensor("var")), argument("training", on), argument("momentum", {{"as_float", 0.1}}),
       argument("eps", {{"as_float", 1e-5}}), argument("cudnn_enabled", on)},
      "input");
  norm.inputs = {{.value = "x"}, {.value = "mean"}, {.value = "var"}};
  const at::Tensor x = at::rand({4, 2});
  const auto mean_of = [&](bool is_switched) {
    Executor executor(resolve(norm, {.evaluates = true, .is_switched = is_switched}, {}));
    return executor.run({x, at::zeros({2}), at::ones({2})}).front().second.mean().item<double>();
  };
  CHECK(std::abs(mean_of(false)) < 1e-5);  // of the batch
  CHECK(mean_of(true) > 0.01);             // of the statistics
  const Program drop =
      one_node("torch.ops.aten.dropout_.default", {argument("p", {{"as_float", 0.5}}), argument("train", on)});
  CHECK(Executor(resolve(drop, {.evaluates = true}, {})).run({x}).front().second.equal(x));
  const auto draws = error_of([&] { resolve(drop, {.evaluates = true, .is_switched = false}, {}); });
  CHECK(contains(draws, "draws random numbers with aten.dropout_ even in evaluation"));
}

TEST_CASE("an evaluation draws the same numbers in each run, and leaves the generator as it was") {
  const Program noise = one_node("torch.ops.aten.rand_like.default");
  const at::Tensor x = at::zeros({3});
  CHECK(contains(error_of([&] { resolve(noise, {.evaluates = true}, {}); }), "aten.rand_like even in evaluation"));
  Executor executor(resolve(noise, {.evaluates = true, .is_switched = false}, {}));
  at::manual_seed(7);
  const at::Tensor next = at::rand({3});
  at::manual_seed(7);
  const at::Tensor first = executor.run({x}).front().second;
  CHECK(at::rand({3}).equal(next));
  CHECK(executor.run({x}).front().second.equal(first));
}

TEST_CASE("results and numbers of a graph may be complex") {
  const json complex = {{{"name", "dtype"}, {"arg", {{"as_scalar_type", 10U}}}}};
  const at::Tensor x = at::ones({2});
  const auto run = [&](const Program& program) { return Executor(resolve(program, {}, {})).run({x}).front().second; };
  CHECK(run(one_node("torch.ops.aten.to.dtype", complex)).scalar_type() == at::kComplexFloat);
  const json twice_i = {{{"name", "other"}, {"arg", {{"as_complex", {{"real", 0.0}, {"imag", 2.0}}}}}}};
  for (const char* const overload : {"Scalar", "Tensor"}) {
    CHECK(at::imag(run(one_node(std::string("torch.ops.aten.mul.") + overload, twice_i))).equal(2 * x));
  }
}

TEST_CASE("an operator that writes into an argument for its result is refused, whatever its name") {
  const json half = {{{"name", "dtype"}, {"arg", {{"as_scalar_type", 6U}}}}};
  const at::Tensor x = at::ones({2});
  const at::Tensor y =
      Executor(resolve(one_node("torch.ops.aten.to.dtype_layout", half), {}, {})).run({x}).front().second;
  CHECK(y.scalar_type() == at::kHalf);
  CHECK(
      Executor(resolve(one_node("torch.ops.aten.neg_.default"), {}, {})).run({at::ones({2})}).front().second.equal(-x));
  CHECK(contains(refusal(one_node("torch.ops.aten.neg.out")), "calls aten.neg.out, which is not an allowed operator"));
  CHECK(contains(refusal(one_node("torch.ops.aten.sort.values")), "calls aten.sort.values, which is not an allowed"));
  CHECK(contains(refusal(one_node("torch.ops.aten.to.nothing")), "calls aten.to.nothing, which this PyTorch lacks"));
}

}  // namespace ddp::graph
