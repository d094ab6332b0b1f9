#include <functional>
#include <optional>
#include <string>
#include <vector>

#include <ATen/Functions.h>
#include <ATen/core/grad_mode.h>
#include <ATen/ops/_efficientzerotensor.h>
#include <torch/nn/modules/common.h>
#include <torch/nn/modules/linear.h>

#include "catch.h"
#include "models/layers.h"
#include "models/model.h"
#include "train/gradients.h"
#include "train/loss/loss.h"
#include "train/replay/comparison.h"
#include "train/replay/player.h"
#include "train/replay/recorded_forward.h"
#include "words.h"

namespace ddp::train {
namespace {

// A layer and its loss, which a test completes.
struct Layer {
  torch::nn::Linear linear{3, 2};
  std::size_t recorded_bytes = 0;
  NamedTensors parameters = {{"weight", linear->weight}, {"bias", linear->bias}};
  std::function<at::Tensor(const at::Tensor& output)> loss = [](const at::Tensor& output) {
    return output.relu().pow(2).mean();
  };

  at::Tensor eager(const at::Tensor& x) {
    for (const auto& [name, parameter] : parameters) parameter.mutable_grad().reset();
    const at::Tensor value = loss(linear(x));
    value.backward();
    return value;
  }

  Tape recorded(const at::Tensor& x) {
    for (const auto& [name, parameter] : parameters) parameter.mutable_grad().reset();
    Recording recording;
    const Recorder recorder(recording);
    const at::Tensor value = loss(linear(x));
    const std::size_t calls_of_forward = recording.calls.size();
    value.backward();
    recorded_bytes = recording.bytes;
    return tape_of(recording, {.batch = {x}, .parameters = &parameters}, {value}, calls_of_forward);
  }

  std::vector<at::Tensor> gradients() const {
    std::vector<at::Tensor> all;
    for (const auto& [name, parameter] : parameters) all.push_back(parameter.grad().clone());
    return all;
  }
};

// The player gives the loss and the gradients of other batches, bit for bit.
void check_like_eager(Player& player, Layer& layer, std::int64_t rows = 4) {
  for (int i = 0; i < 3; ++i) {
    const at::Tensor x = at::randn({rows, 3});
    const at::Tensor value = layer.eager(x);
    const std::vector<at::Tensor> gradients = layer.gradients();
    CHECK(player.forward({x}).front().equal(value));
    player.backward({.complete = [](std::size_t, const at::Tensor&) {}});
    for (std::size_t k = 0; k < gradients.size(); ++k) CHECK(layer.gradients()[k].equal(gradients[k]));
  }
}

std::string refusal(const std::function<void()>& make) try {
  make();
  return "";
} catch (const NotStatic& error) {
  return error.reason;
}

const NamedTensors kNoBuffers;
void never(const std::string& reason) { FAIL(reason); }

// Returns why forwards are not replayed whose first replay had other bits; "": they are.
std::string difference_of(const std::function<at::Tensor(const at::Tensor&)>& model,
                          const NamedTensors& buffers = kNoBuffers) {
  const at::NoGradGuard no_grad;
  std::string found;
  RecordedForward forward(
      [&](const std::vector<at::Tensor>& inputs) {
        return NamedTensors{{"y", model(inputs.front())}};
      },
      true, buffers, [&](const std::string& reason) { found = reason; });
  for (int i = 0; i < 5; ++i) {
    const at::Tensor x = at::randn({4, 3});
    const at::Tensor found_now = forward({x}).front().second;
    CHECK(found_now.equal(model(x)));
  }
  return found;
}

}  // namespace

TEST_CASE("a conjugate or negative view is another tensor than the one whose memory it has") {
  Layer layer;
  for (const auto& loss : std::vector<std::function<at::Tensor(const at::Tensor&)>>{
           [](const at::Tensor& output) { return at::real(at::complex(output, output + 1).conj() * output).mean(); },
           [](const at::Tensor& output) {
             return at::imag(at::complex(output, output.tanh()).conj()).neg().pow(2).mean();
           },
           [](const at::Tensor& output) {
             const at::Tensor one = at::complex(output, output.tanh());
             return at::view_as_real(one * one.conj() * one).pow(2).sum();
           },
           [](const at::Tensor& output) { return at::fft_fft2(output).abs().mean(); }}) {
    layer.loss = loss;
    layer.recorded(at::rand({4, 3}));
    CommonMemory common;
    Player player(layer.recorded(at::rand({4, 3})), common);
    check_like_eager(player, layer);
  }
}

TEST_CASE("memory that a kernel has written without a call is not replayed") {
  const at::NoGradGuard no_grad;
  using Forward = at::Tensor (*)(const at::Tensor&);
  const Forward with_channels = [](const at::Tensor& x) { return at::max_pool1d(x.unsqueeze(1), {2}); };
  const Forward squeezed_in_place = [](const at::Tensor& x) { return at::max_pool1d(x, {2}); };
  for (const Forward pooled : {with_channels, squeezed_in_place}) {
    Recording recording;
    const at::Tensor x = at::randn({4, 8});
    at::Tensor output;
    {
      const Recorder recorder(recording);
      output = pooled(x).exp();
    }
    const NamedTensors no_parameters;
    const auto tape = [&] { tape_of(recording, {.batch = {x}, .parameters = &no_parameters}, {output}); };
    CHECK(contains(refusal(tape), "reads memory that a kernel has written without a call"));
    CHECK(difference_of(pooled).empty());
  }
  CHECK(difference_of([](const at::Tensor& one) { return at::empty_like(one).copy_(one).exp(); }).empty());
}

TEST_CASE("a recording in which memory that two tensors share grows is refused") {
  Recording recording;
  const at::Tensor x = at::randn({4, 8});
  at::Tensor output;
  {
    const Recorder recorder(recording);
    const at::Tensor y = x.exp();
    at::Tensor same_memory = y.view(at::kDouble);
    at::exp_out(same_memory, x);
    output = y.neg();
  }
  const NamedTensors no_parameters;
  const auto tape = [&] { tape_of(recording, {.batch = {x}, .parameters = &no_parameters}, {output}); };
  CHECK(contains(refusal(tape), "gives a tensor more memory"));
}

TEST_CASE("zeros without memory, as autograd makes them, are a constant of a replay") {
  const at::Tensor zeros = at::_efficientzerotensor({4, 3});
  CHECK(difference_of([&](const at::Tensor& x) { return (x + zeros).exp(); }).empty());
}

TEST_CASE("a first replay with other bits than the forward beside it is refused, and the first tensor is named") {
  // The calls are the same each time; memory is written beside them.
  const auto writes = [](const at::Tensor& x) {
    const at::Tensor y = x.exp();
    y.mutable_data_ptr<float>()[0] = x.const_data_ptr<float>()[1];
    return y;
  };
  CHECK(difference_of(writes) == std::string(kOtherBits) + "the output \"y\"");
  const NamedTensors buffers = {{"seen", at::zeros({2})}};
  const auto counts = [&](const at::Tensor& x) {
    buffers.front().second.mutable_data_ptr<float>()[0] += 1;
    return x.exp();
  };
  CHECK(difference_of(counts, buffers) == std::string(kOtherBits) + "the buffer \"seen\"");
}

TEST_CASE("a comparison leaves the batch, the gradients, the buffers and the random numbers as they were") {
  const at::Tensor weight = at::randn({3}).requires_grad_();
  const at::Tensor seen = at::zeros({3});
  const NamedTensors parameters = {{"weight", weight}}, buffers = {{"seen", seen}};
  const auto run = [&](at::Tensor x) {
    x.add_(1);
    const at::Tensor kept = at::dropout(x * weight, 0.5, true);
    {
      const at::NoGradGuard no_grad;
      seen.add_(kept.mean(0));
    }
    return kept.pow(2).mean();
  };
  std::optional<Tape> tape;
  CommonMemory common;
  for (int i = 0; i < 2; ++i) {
    weight.mutable_grad().reset();
    const at::Tensor x = at::randn({4, 3});
    Recording recording;
    const Recorder recorder(recording);
    const at::Tensor value = run(x);
    const std::size_t calls_of_forward = recording.calls.size();
    value.backward();
    tape = tape_of(recording, {.batch = {x}, .parameters = &parameters}, {value}, calls_of_forward);
  }
  Player player(std::move(*tape), common);
  weight.mutable_grad().reset();
  const at::Tensor x = at::randn({4, 3}), x_before = x.clone(), seen_before = seen.clone();
  at::manual_seed(5);
  const Comparison comparison(player, {x}, parameters, buffers);
  CHECK(x.equal(x_before));
  CHECK(seen.equal(seen_before));
  CHECK(!weight.grad().defined());
  const at::Tensor drawn = at::rand({1});
  at::manual_seed(5);
  CHECK(at::rand({1}).equal(drawn));
  at::manual_seed(5);
  const at::Tensor value = run(x);
  value.backward();
  CHECK(comparison.difference({{"loss", value}}).empty());
  seen.add_(1);
  CHECK(comparison.difference({{"loss", value}}) == "the buffer \"seen\"");
  weight.mutable_grad().add_(1);
  CHECK(comparison.difference({{"loss", value}}) == "the gradient of \"weight\"");
}

TEST_CASE("a parameter without numbers is replayed") {
  const NamedTensors parameters = {{"empty", at::zeros({0, 3}).requires_grad_()},
                                   {"weight", at::randn({2, 3}).requires_grad_()}};
  const auto loss = [&](const at::Tensor& x) {
    return x.matmul(at::cat({parameters[0].second, parameters[1].second}).t()).pow(2).mean();
  };
  const auto recorded = [&](const at::Tensor& x) {
    for (const auto& [name, parameter] : parameters) parameter.mutable_grad().reset();
    Recording recording;
    const Recorder recorder(recording);
    const at::Tensor value = loss(x);
    const std::size_t calls_of_forward = recording.calls.size();
    value.backward();
    return tape_of(recording, {.batch = {x}, .parameters = &parameters}, {value}, calls_of_forward);
  };
  CommonMemory common;
  Player player(recorded(at::rand({4, 3})), common);
  const at::Tensor x = at::rand({4, 3});
  const Comparison comparison(player, {x}, parameters, kNoBuffers);
  for (const auto& [name, parameter] : parameters) parameter.mutable_grad().reset();
  const at::Tensor value = loss(x);
  value.backward();
  CHECK(comparison.difference({{"loss", value}}).empty());
}

TEST_CASE("the components of ddp-exp promise the same calls, and one that does not is not replayed") {
  for (const std::string& name : models::registry().names()) {
    INFO(name);
    CHECK(models::registry().traits(name).value("same_calls", false));
  }
  for (const std::string& name : losses().names()) {
    INFO(name);
    CHECK(losses().traits(name).value("same_calls", false));
  }
  for (const std::string& name : models::layers().names()) {
    INFO(name);
    CHECK(models::layers().traits(name).value("same_calls", false));
  }
  const bool added = models::layers().add<config::NoOptions>(
      "Counting", "acts by the number of its calls",
      [](const auto&) { return torch::nn::AnyModule(torch::nn::Identity()); }, {{"activation", "counting"}});
  REQUIRE(added);
  const auto chain_with = [](const std::string& layer) {
    config::Value layers = config::Value::array({{{"type", "ReLU"}}, {{"type", layer}}});
    return config::Component{.name = "sequential", .options = {{"layers", std::move(layers)}}};
  };
  CHECK(models::makes_same_calls(chain_with("Tanh")));
  CHECK_FALSE(models::makes_same_calls(chain_with("Counting")));
  CHECK(models::makes_same_calls({.name = "mlp", .options = {{"activation", "tanh"}}}));
  CHECK_FALSE(models::makes_same_calls({.name = "mlp", .options = {{"activation", "counting"}}}));
}

TEST_CASE("a player gives the loss and the gradients of another batch, bit for bit") {
  Layer layer;
  Tape tape = layer.recorded(at::rand({4, 3}));
  CHECK(difference(tape, layer.recorded(at::rand({4, 3}))).empty());
  CommonMemory common;
  Player player(std::move(tape), common);
  check_like_eager(player, layer);
}

TEST_CASE("recordings differ in a number, an operator, and where a tensor comes from") {
  Layer layer;
  const at::Tensor x = at::rand({4, 3});
  double factor = 1;
  layer.loss = [&](const at::Tensor& output) { return (output * factor).mean(); };
  const Tape first = layer.recorded(x);
  factor = 2;
  CHECK(difference(first, layer.recorded(x)) == "call 3, aten::mul.Scalar: the argument other differs");
  layer.loss = [](const at::Tensor& output) { return output.tanh().mean(); };
  CHECK(contains(difference(first, layer.recorded(x)), "the next recording has aten::tanh"));
  layer.loss = [](const at::Tensor& output) { return (output - output.tanh()).mean(); };
  const Tape second = layer.recorded(x);
  layer.loss = [](const at::Tensor& output) { return (output.tanh() - output.tanh()).mean(); };
  CHECK(contains(difference(second, layer.recorded(x)), "call 4, aten::sub.Tensor: the next recording has aten::tanh"));
  layer.loss = [](const at::Tensor& output) {
    const at::Tensor squashed = output.tanh();
    return (squashed - output).mean();
  };
  CHECK(difference(second, layer.recorded(x)) == "call 4, aten::sub.Tensor: its tensors come from elsewhere");
}

TEST_CASE("a step is not static where a call depends on the values of a tensor") {
  Layer layer;
  const at::Tensor x = at::rand({4, 3});
  layer.loss = [](const at::Tensor& output) { return output.masked_select(output > 0).sum(); };
  CHECK(contains(refusal([&] { layer.recorded(x); }), "aten::masked_select depends on the values of a tensor"));
  layer.loss = [](const at::Tensor& output) { return output.index({output > 0}).sum(); };
  CHECK(contains(refusal([&] { layer.recorded(x); }), "depends on the values of a tensor"));
  layer.loss = [](const at::Tensor& output) { return output.mean() * output.detach().max().item<double>(); };
  CHECK(contains(refusal([&] { layer.recorded(x); }), "depends on the values of a tensor"));
}

TEST_CASE("a gradient without memory of its own, as the one of a sum, is replayed though its numbers are watched") {
  Layer layer;
  const GradientWatch watch(layer.parameters, [](std::size_t) {});
  layer.loss = [&](const at::Tensor& output) { return output.relu().pow(2).mean() + layer.linear->weight.sum(); };
  CommonMemory common;
  const auto mixed = player_of(layer.recorded(at::rand({4, 3})), layer.recorded(at::rand({4, 3})), common);
  check_like_eager(*mixed, layer);
  layer.loss = [&](const at::Tensor& output) { return output.detach().mean() * layer.linear->weight.sum(); };
  layer.parameters.pop_back();  // the bias has no gradient
  const auto alone = player_of(layer.recorded(at::rand({4, 3})), layer.recorded(at::rand({4, 3})), common);
  check_like_eager(*alone, layer);
}

TEST_CASE("recordings in which other parameters are unused differ, and the parameter is named") {
  Layer layer;
  const at::Tensor x = at::rand({4, 3});
  const Tape first = layer.recorded(x);
  CHECK(first.unused.empty());
  layer.loss = [&](const at::Tensor& output) { return output.detach().mean() * layer.linear->weight.pow(2).sum(); };
  const Tape second = layer.recorded(x);
  CHECK(second.unused == std::vector<std::size_t>{1});
  for (const std::string& found : {difference(first, second), difference(second, first)}) {
    CHECK(found == "the parameter \"bias\" has a gradient in only one of two recordings");
  }
}

TEST_CASE("a recording that takes too much memory ends at the call that takes it, and its whole size is told") {
  const at::NoGradGuard no_grad;
  const at::Tensor x = at::rand({1 << 18});  // 1 MiB
  const auto recorded = [&](std::size_t most_bytes) {
    Recording recording{.most_bytes = most_bytes};
    const Recorder recorder(recording);
    at::Tensor y = x.exp().view({2, -1}).t().relu_();  // a view and a change in place take no more memory
    CHECK(recording.calls.size() == 4);
    y = y.neg();
    CHECK(recording.calls.empty() == (most_bytes < std::size_t{2} << 20));
    y = y.tanh();
    CHECK(recording.bytes == std::size_t{3} << 20);
    const NamedTensors no_parameters;
    return refusal([&] { tape_of(recording, {.batch = {x}, .parameters = &no_parameters}, {y}); });
  };
  CHECK(recorded(std::size_t{3} << 20).empty());
  CHECK(recorded((std::size_t{2} << 20) - 1) == "its recording takes 3 MiB, and may take 1 MiB");
}

TEST_CASE("a recording frees memory that only it holds, and its replay has the bits of eager work") {
  Layer layer;
  // 1 MiB each: 24 sines, whose arguments live until backward, and two products and a copy for each in backward.
  layer.loss = [](const at::Tensor& output) {
    at::Tensor y = output.relu();
    for (int i = 0; i < 24; ++i) y = y.view({2, -1}).t().sin().t().reshape(output.sizes());
    return y.pow(2).mean();
  };
  constexpr std::int64_t kRows = 1 << 17;
  Tape tape = layer.recorded(at::rand({kRows, 3}));
  CHECK(layer.recorded_bytes < std::size_t{56} << 20);
  CommonMemory common;
  Player player(std::move(tape), common);
  check_like_eager(player, layer, kRows);
}

TEST_CASE("memory that a kernel of ours writes is not another tensor's that is still read") {
  Layer layer;
  // Both branches live until the product; later ones of the same size may take their memory.
  layer.loss = [](const at::Tensor& output) {
    const at::Tensor a = output.sigmoid(), b = a.tanh(), c = b.sigmoid();
    return (a * c - b).tanh().pow(2).mean() + (c * c).mean();
  };
  Tape tape = layer.recorded(at::rand({4, 3}));
  CommonMemory common;
  Player player(std::move(tape), common);
  check_like_eager(player, layer);
}

TEST_CASE("players of one owner share memory, and give the bits of eager steps in turn") {
  Layer layer;
  layer.loss = [](const at::Tensor& output) { return output.sigmoid().tanh().pow(2).mean(); };
  CommonMemory common;
  Player first(layer.recorded(at::rand({4, 3})), common);
  const std::size_t pieces = common.size();
  CHECK(pieces > 0);
  Player second(layer.recorded(at::rand({4, 3})), common);
  CHECK(common.size() == pieces);
  for (Player* player : {&first, &second, &first}) check_like_eager(*player, layer);
}

TEST_CASE("a recorded forward gives the outputs of each batch, and stays eager where it depends on values") {
  const at::NoGradGuard no_grad;
  torch::nn::Linear linear(3, 2);
  int eager = 0;
  RecordedForward forward(
      [&](const std::vector<at::Tensor>& inputs) {
        ++eager;
        if (inputs.front().max().item<float>() > 90) return NamedTensors();
        const at::Tensor hidden = linear(inputs.front());
        return NamedTensors{{"a", hidden.relu()}, {"b", hidden.tanh()}};
      },
      true, kNoBuffers, never);
  std::vector<NamedTensors> all;
  std::vector<at::Tensor> inputs;
  for (int i = 0; i < 6; ++i) {
    inputs.push_back(at::randn({i == 5 ? 2 : 4, 3}));
    all.push_back(forward({inputs.back()}));
  }
  for (std::size_t i = 0; i < all.size(); ++i) {
    CHECK(all[i][0].second.equal(linear(inputs[i]).relu()));
    CHECK(all[i][1].second.equal(linear(inputs[i]).tanh()));
  }
  // max().item() makes the forward depend on a value: it stays eager.
  CHECK(eager == 6);
  RecordedForward plain(
      [&](const std::vector<at::Tensor>& x) {
        return ++eager, NamedTensors{{"y", linear(x.front())}};
      },
      true, kNoBuffers, never);
  std::vector<at::Tensor> outputs;
  for (int i = 0; i < 5; ++i) outputs.push_back(plain({inputs[static_cast<std::size_t>(i)]}).front().second);
  CHECK(eager == 8);  // two recordings
  for (std::size_t i = 0; i < outputs.size(); ++i) CHECK(outputs[i].equal(linear(inputs[i])));
}

}  // namespace ddp::train
