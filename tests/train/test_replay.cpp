#include <functional>
#include <string>
#include <vector>

#include <ATen/Functions.h>
#include <torch/nn/modules/linear.h>

#include "catch.h"
#include "train/replay/player.h"
#include "train/replay/recorded_forward.h"
#include "words.h"

namespace ddp::train {
namespace {

// A layer and its loss, which a test completes.
struct Layer {
  torch::nn::Linear linear{3, 2};
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
    return tape_of(recording, {.batch = {x}, .parameters = &parameters}, {value}, calls_of_forward);
  }

  std::vector<at::Tensor> gradients() const {
    std::vector<at::Tensor> all;
    for (const auto& [name, parameter] : parameters) all.push_back(parameter.grad().clone());
    return all;
  }
};

// The player gives the loss and the gradients of other batches, bit for bit.
void check_like_eager(Player& player, Layer& layer) {
  for (int i = 0; i < 3; ++i) {
    const at::Tensor x = at::randn({4, 3});
    const at::Tensor value = layer.eager(x);
    const std::vector<at::Tensor> gradients = layer.gradients();
    CHECK(player.forward({x}).front().equal(value));
    player.backward({});
    CHECK(layer.gradients()[0].equal(gradients[0]));
    CHECK(layer.gradients()[1].equal(gradients[1]));
  }
}

std::string refusal(const std::function<void()>& make) try {
  make();
  return "";
} catch (const NotStatic& error) {
  return error.reason;
}

}  // namespace

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
      true);
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
      true);
  std::vector<at::Tensor> outputs;
  for (int i = 0; i < 5; ++i) outputs.push_back(plain({inputs[static_cast<std::size_t>(i)]}).front().second);
  CHECK(eager == 8);  // two recordings
  for (std::size_t i = 0; i < outputs.size(); ++i) CHECK(outputs[i].equal(linear(inputs[i])));
}

}  // namespace ddp::train
