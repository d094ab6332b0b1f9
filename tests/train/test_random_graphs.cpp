// Random small models, drawn by a seed, trained eagerly and replayed: the same bits. DDP_GRAPHS says how many; a soak
// takes 100,000 (scripts/soak replay).
#include <cstdlib>
#include <functional>
#include <optional>
#include <random>
#include <string>
#include <vector>

#include <ATen/Functions.h>
#include <ATen/Parallel.h>
#include <ATen/core/grad_mode.h>
#include <torch/nn/modules.h>

#include "catch.h"
#include "train/optim/optimizer.h"
#include "train/replay/player.h"

namespace ddp::train {
namespace {

constexpr int kDrawnSteps = 10;
constexpr int kEagerSteps = 2;

class Draw {
 public:
  explicit Draw(unsigned seed) : engine_(seed) {}
  std::int64_t from(std::int64_t least, std::int64_t most) {
    return std::uniform_int_distribution<std::int64_t>(least, most)(engine_);
  }
  bool half() { return from(0, 1) == 1; }

 private:
  std::mt19937 engine_;
};

// A model with its loss, its data and its optimizer. The same seed gives the same one.
class Drawn {
 public:
  explicit Drawn(unsigned seed) : draw_(seed) {
    at::manual_seed(seed);
    batch_ = draw_.from(2, 40);
    // Products add up rows of more than 192 numbers in blocks.
    std::int64_t width = features_ = draw_.from(0, 9) == 0 ? draw_.from(180, 600) : draw_.from(1, 40);
    for (std::int64_t layers = draw_.from(1, 5); layers > 0; --layers) width = add_layer(width);
    add_loss(width);
    for (const auto& item : model_->named_parameters()) parameters_.emplace_back(item.key(), item.value());
    if (parameters_.size() > 1 && draw_.from(0, 4) == 0) parameters_.front().second.set_requires_grad(false);
    const char* const names[] = {"sgd", "adam", "adamw", "rmsprop", "adagrad"};
    optimizer_name_ = names[draw_.from(0, 4)];
    config::Value options = {{"lr", 0.01}};
    if (optimizer_name_ == "sgd" && draw_.half()) options["momentum"] = 0.9;
    optimizer_ = optimizers().build(optimizer_name_, options, parameters_);
    micro_batches_ = draw_.from(1, 2);
  }

  std::string words() const {
    return words_ + optimizer_name_ + ", batch " + std::to_string(batch_) + ", micro-batches " +
           std::to_string(micro_batches_);
  }

  // Trains some steps. Returns losses, parameters and buffers. `replays`: from the third step on they are recorded
  // twice, then replayed.
  std::vector<at::Tensor> train(bool replays) {
    std::vector<at::Tensor> bits;
    for (int step = 0; step < kDrawnSteps; ++step) {
      for (const auto& [name, parameter] : parameters_) parameter.mutable_grad().reset();
      for (std::int64_t i = 0; i < micro_batches_; ++i) {
        const at::Tensor x = at::randn({batch_, features_}), y = target_();
        bits.push_back(micro_batch(x, y, replays && step >= kEagerSteps ? &kinds_[i] : nullptr).clone());
      }
      optimizer_->step(0.01);
    }
    for (const auto& [name, parameter] : parameters_) bits.push_back(parameter.detach().clone());
    for (const at::Tensor& buffer : model_->buffers()) bits.push_back(buffer.clone());
    return bits;
  }

 private:
  struct Kind {
    std::optional<Tape> first;
    std::unique_ptr<Player> player;
  };

  at::Tensor micro_batch(const at::Tensor& x, const at::Tensor& y, Kind* kind) {
    if (kind != nullptr && kind->player) {
      const at::Tensor loss = kind->player->forward({x, y}).front();
      kind->player->backward({});
      return loss;
    }
    std::vector<at::Tensor> before;
    for (const auto& [name, parameter] : parameters_) before.push_back(parameter.grad());
    Recording recording;
    std::optional<Recorder> recorder;
    if (kind != nullptr) recorder.emplace(recording);
    const at::Tensor loss = loss_(model_->forward(x), y);
    const std::size_t calls_of_forward = recording.calls.size();
    loss.backward();
    recorder.reset();
    if (kind == nullptr) return loss.detach();
    Tape tape = tape_of(recording, {.batch = {x, y}, .parameters = &parameters_, .gradients_before = before}, {loss},
                        calls_of_forward);
    if (kind->first) {
      kind->player = player_of(*kind->first, std::move(tape), common_);
    } else {
      tape.drop_results();
      kind->first.emplace(std::move(tape));
    }
    return loss.detach();
  }

  template <class Module>
  void push(const std::string& what, Module module) {
    words_ += what + ", ";
    model_->push_back(std::move(module));
  }

  std::int64_t add_layer(std::int64_t width) {
    const std::int64_t next = draw_.from(1, 40);
    push("linear " + std::to_string(width) + "-" + std::to_string(next),
         torch::nn::Linear(torch::nn::LinearOptions(width, next).bias(draw_.from(0, 4) != 0)));
    switch (draw_.from(0, 11)) {
      case 0:
        push("relu", torch::nn::ReLU());
        break;
      case 1:
        push("relu in place", torch::nn::ReLU(torch::nn::ReLUOptions(true)));
        break;
      case 2:
        push("tanh", torch::nn::Tanh());
        break;
      case 3:
        push("sigmoid", torch::nn::Sigmoid());
        break;
      case 4:
        push("gelu", torch::nn::GELU());
        break;
      case 5:
        push("silu", torch::nn::SiLU());
        break;
      case 6:
        push("elu", torch::nn::ELU());
        break;
      case 7:
        push("leaky relu", torch::nn::LeakyReLU());
        break;
      case 8:
        push("dropout", torch::nn::Dropout(0.3));
        break;
      case 9:
        push("layer norm", torch::nn::LayerNorm(torch::nn::LayerNormOptions({next})));
        break;
      case 10:
        push("batch norm", torch::nn::BatchNorm1d(next));
        break;
      default:
        break;
    }
    return next;
  }

  void add_loss(std::int64_t width) {
    const auto numbers = [this, width] { return at::randn({batch_, width}); };
    const auto classes = [this, width] { return at::randint(width, {batch_}, at::kLong); };
    switch (draw_.from(0, 5)) {
      case 0:
        use("mse", numbers, [](const auto& a, const auto& b) { return at::mse_loss(a, b); });
        break;
      case 1:
        use("l1", numbers, [](const auto& a, const auto& b) { return at::l1_loss(a, b); });
        break;
      case 2:
        use("smooth l1", numbers, [](const auto& a, const auto& b) { return at::smooth_l1_loss(a, b); });
        break;
      case 3:
        use("huber", numbers, [](const auto& a, const auto& b) { return at::huber_loss(a, b); });
        break;
      case 4:
        use("bce", numbers,
            [](const auto& a, const auto& b) { return at::binary_cross_entropy_with_logits(a, b.sigmoid()); });
        break;
      default:
        use("cross entropy", classes, [](const auto& a, const auto& b) { return at::cross_entropy_loss(a, b); });
    }
  }

  void use(const std::string& what, std::function<at::Tensor()> target,
           std::function<at::Tensor(const at::Tensor&, const at::Tensor&)> loss) {
    words_ += what + ", ";
    target_ = std::move(target);
    loss_ = std::move(loss);
  }

  Draw draw_;
  torch::nn::Sequential model_;
  NamedTensors parameters_;
  std::function<at::Tensor()> target_;
  std::function<at::Tensor(const at::Tensor&, const at::Tensor&)> loss_;
  std::string optimizer_name_;
  std::unique_ptr<Optimizer> optimizer_;
  std::string words_;
  std::int64_t batch_ = 0, features_ = 0, micro_batches_ = 1;
  Kind kinds_[2];
  CommonMemory common_;
};

}  // namespace

TEST_CASE("random small models have the same bits eagerly and replayed") {
  const int threads = at::get_num_threads();
  at::set_num_threads(1);  // as a rank does: with more threads no product is ours
  const char* const given = std::getenv("DDP_GRAPHS");
  const unsigned count = given == nullptr ? 500 : static_cast<unsigned>(std::stoul(given));
  for (unsigned seed = 0; seed < count; ++seed) {
    Drawn eager(seed), replayed(seed);
    INFO("seed " << seed << ": " << eager.words());
    at::manual_seed(seed);
    const std::vector<at::Tensor> expected = eager.train(false);
    at::manual_seed(seed);
    const std::vector<at::Tensor> found = replayed.train(true);
    REQUIRE(found.size() == expected.size());
    for (std::size_t i = 0; i < found.size(); ++i) {
      INFO("tensor " << i);
      REQUIRE(at::equal(found[i].nan_to_num(1234), expected[i].nan_to_num(1234)));
    }
  }
  at::set_num_threads(threads);
}

}  // namespace ddp::train
