#include <cmath>

#include <ATen/ops/full.h>
#include <ATen/ops/tensor.h>
#include <ATen/ops/zeros.h>

#include "catch.h"
#include "errors.h"
#include "train/loss/loss.h"
#include "values.h"
#include "words.h"

namespace ddp::train {
namespace {

datasets::Batch batch_of(const at::Tensor& target, std::int64_t samples) {
  return datasets::Batch({{"input", at::zeros({samples})}}, {{"target", target}});
}

LossSum measured(const Loss& loss, const at::Tensor& output, const at::Tensor& target, std::int64_t samples) {
  return loss.measure({{"output", output}}, batch_of(target, samples));
}

using Json = nlohmann::json;

// The targets of a case, as in compute.py.
at::Tensor targets_of(const std::string& title, const at::Tensor& output) {
  if (title.ends_with("some")) return at::tensor({3, -100, 2, 2, -100}, at::kLong);
  const bool of_classes = title.starts_with("cross_entropy") || title.starts_with("nll");
  if (of_classes && !title.ends_with("probabilities")) return at::tensor({3, 0, 2, 2, 1}, at::kLong);
  const at::Tensor numbers = ramp(output.sizes().vec(), 4);
  return title.starts_with("bce") ? numbers.abs() : numbers;
}

std::string refusal(const std::string& loss, const at::Tensor& output, const at::Tensor& target) {
  return error_of([&] { losses().build(loss, Json::object())(output, target); });
}

}  // namespace

TEST_CASE("each loss has PyTorch's value and gradient, bit for bit") {
  const Json cases = kept_values("train", "losses");
  REQUIRE(cases.size() == 19);
  for (const auto& [title, kept] : cases.items()) {
    INFO(title);
    const at::Tensor expected = kept_tensor(kept.at("gradient"));
    const at::Tensor output = ramp(expected.sizes().vec()).requires_grad_();
    const Loss loss = losses().build(kept.at("name"), kept.at("options"));
    const at::Tensor value = loss(output, targets_of(title, output));
    value.backward();
    CHECK(same_bits(value.detach(), kept_tensor(kept.at("value"))));
    CHECK(same_bits(output.grad(), expected));
  }
}

TEST_CASE("cross_entropy takes a text's outputs with the classes last, also if torch's form would fit too") {
  const Loss loss = losses().build("cross_entropy", Json::object());
  for (const std::int64_t classes : {3, 5}) {
    const at::Tensor output = ramp({2, 3, classes});
    const at::Tensor target = at::tensor({0, 2, 1, 1, 2, 0}, at::kLong).view({2, 3});
    CHECK(same_bits(loss(output, target), loss(output.reshape({6, classes}), target.flatten())));
  }
  // Torch's form, with classes in the second dimension, if the shapes require it.
  const at::Tensor output = ramp({2, 4, 3});
  const at::Tensor target = at::tensor({0, 2, 1, 1, 2, 0}, at::kLong).view({2, 3});
  CHECK(nearly_same(loss(output, target), loss(output.transpose(1, 2).reshape({6, 4}), target.flatten())));
}

TEST_CASE("outputs and targets that do not fit are refused with both shapes and the loss's requirement") {
  CHECK(contains(refusal("mse", ramp({4, 2}), ramp({4})), "values of shape [4, 2] for targets of shape [4]"));
  CHECK(contains(refusal("mse", ramp({4, 2}), ramp({4, 1})), "mse needs them equal"));
  CHECK(contains(refusal("mse", ramp({4, 2}), at::tensor({1, 2, 3, 0}, at::kLong)), "use loss = \"cross_entropy\""));
  CHECK(contains(refusal("cross_entropy", ramp({4, 2}), ramp({4})), "the targets are float32"));
  CHECK(contains(refusal("cross_entropy", ramp({4}), at::tensor({1, 2, 3, 0}, at::kLong)), "values of shape [4]"));
  CHECK(contains(refusal("cross_entropy", ramp({4, 2}), ramp({4, 3})), "[n] or probabilities [n, classes]"));
}

TEST_CASE("a class index without an output of the model is an error with the number of classes") {
  for (const char* loss : {"cross_entropy", "nll"}) {
    CHECK(contains(refusal(loss, ramp({3, 4}), at::tensor({0, 4, 1}, at::kLong)), "class 4, and the model gives 4"));
    CHECK(contains(refusal(loss, ramp({3, 4}), at::tensor({0, -1, 1}, at::kLong)), "a target is class -1"));
    CHECK(contains(refusal(loss, ramp({3, 4}), at::tensor({0, -1, 1}, at::kLong)), "ignore_index"));
  }
  CHECK(contains(refusal("nll", ramp({3, 4}), ramp({3, 4})), "nll needs class indices"));
  CHECK(contains(refusal("nll", ramp({3, 4}), at::tensor({0, 1, 2}, at::kLong).view({3, 1})),
                 "values of shape [3, 4] for targets of shape [3, 1]"));
}

TEST_CASE("each loss refuses the targets that it cannot take, of any number of samples") {
  const auto refused = [](const std::string& loss, const at::Tensor& output, const at::Tensor& target,
                          const at::Tensor& all) {
    const CheckTargets check = losses().build(loss, Json::object()).check_targets(output, target);
    return error_of([&] { check(all); });
  };
  for (const char* loss : {"mse", "l1", "smooth_l1", "huber", "bce_with_logits"}) {
    const auto numbers = [&](const at::Tensor& all) { return refused(loss, ramp({2, 1}), ramp({2, 1}), all); };
    INFO(loss);
    CHECK(numbers(at::tensor({0.F, 1.F, 0.25F})) == "");
    CHECK(contains(numbers(at::tensor({0.F, NAN, 1.F})), "a target is nan"));
    CHECK(contains(numbers(at::tensor({0.F, INFINITY})), "a target is inf"));
    CHECK(numbers(at::tensor({0, 1}, at::kLong)) != "");
  }
  const auto labels = [&](double one) {
    return refused("bce_with_logits", ramp({2, 1}), ramp({2, 1}), at::tensor({0., 1., one}, at::kFloat));
  };
  for (const double wrong : {255., 2., -1.})
    CHECK(contains(labels(wrong), "bce_with_logits takes numbers from 0 to 1"));
  CHECK(refused("mse", ramp({2, 1}), ramp({2, 1}), at::tensor({-1.F, 255.F})) == "");

  const auto probabilities = [&](const std::vector<float>& one) {
    return refused("cross_entropy", ramp({1, 3}), ramp({1, 3}), at::tensor(one).view({1, 3}));
  };
  CHECK(probabilities({0.25F, 0.75F, 0}) == "");
  CHECK(probabilities({0.33F, 0.33F, 0.33F}) == "");
  CHECK(contains(probabilities({-0.5F, 1, 0.5F}), "a target is -0.5, and cross_entropy takes"));
  CHECK(contains(probabilities({1, 1, 0}), "add up to 2, not to 1"));
  CHECK(contains(probabilities({0, 0, 0}), "add up to 0, not to 1"));
  CHECK(contains(probabilities({NAN, 0, 1}), "a target is nan"));

  const at::Tensor two = at::tensor({0, 1}, at::kLong);
  for (const char* loss : {"cross_entropy", "nll"}) {
    CHECK(refused(loss, ramp({2, 4}), two, at::tensor({0, 3, -100}, at::kLong)) == "");
    CHECK(contains(refused(loss, ramp({2, 4}), two, at::tensor({0, 4}, at::kLong)), "a target is class 4"));
    CHECK(contains(refused(loss, ramp({2, 3, 4}), at::zeros({2, 3}, at::kLong), at::full({9, 5}, 4)), "is class 4"));
    CHECK(refused(loss, ramp({2, 4}), two, ramp({5})) != "");
  }
}

TEST_CASE("weights of classes and labels must match their number") {
  const at::Tensor classes = at::tensor({0, 2, 1}, at::kLong);
  const auto weighted = [](const char* name, const Json& options, const at::Tensor& target) {
    return error_of([&] { losses().build(name, options)(ramp({3, 4}), target); });
  };
  CHECK(contains(weighted("cross_entropy", {{"weight", {1.0, 2.0}}}, classes), "has 2 weights, and"));
  CHECK(weighted("cross_entropy", {{"weight", Json::array()}}, classes) == "");
  CHECK(contains(weighted("bce_with_logits", {{"pos_weight", Json::array()}}, ramp({3, 4})), "has 0 weights"));
  CHECK(contains(weighted("bce_with_logits", {{"pos_weight", {1.0, 2.0}}}, ramp({3, 4})), "has 2 weights for"));
  CHECK(contains(weighted("bce_with_logits", Json::object(), ramp({3, 1})),
                 "values of shape [3, 4] for targets of shape [3, 1]"));
  CHECK(contains(weighted("bce_with_logits", Json::object(), classes), "integers of shape [3]"));
  CHECK(contains(weighted("cross_entropy", {{"ignore_index", 0}}, ramp({3, 4})), "the targets are probabilities"));
}

TEST_CASE("a loss that ignores a class counts the other targets by their weights") {
  const at::Tensor target = at::tensor({3, -1, 2, 2, -1}, at::kLong);
  CHECK_FALSE(losses().build("cross_entropy", Json::object()).divides_by_count());
  const Loss plain = losses().build("cross_entropy", {{"ignore_index", -1}});
  CHECK(plain.divides_by_count());
  CHECK(plain.count(batch_of(target, 5)) == 3);
  const Loss weighted = losses().build("cross_entropy", {{"ignore_index", -1}, {"weight", {1.0, 1.0, 0.5, 3.0}}});
  CHECK(weighted.count(batch_of(target, 5)) == 4);
  CHECK(contains(error_of([&] { weighted.count(batch_of(at::tensor({4}, at::kLong), 1)); }), "a target is class 4"));
  CHECK(measured(plain, ramp({5, 4}), target, 5).weight == 3);
  CHECK(std::abs(measured(plain, ramp({5, 4}), target, 5).mean() - plain(ramp({5, 4}), target).item<double>()) < 1e-6);
  CHECK(measured(plain, ramp({2, 4}), at::tensor({-1, -1}, at::kLong), 2).sum == 0);
}

TEST_CASE("a batch has in a measurement the weight of its targets in torch's mean") {
  const Loss loss = losses().build("cross_entropy", Json::object());
  CHECK(measured(loss, ramp({2, 3, 4}), at::tensor({0, 1, 2, 1, 2, 3}, at::kLong).view({2, 3}), 2).weight == 2);
  CHECK(measured(loss, ramp({4, 4}), at::tensor({0, 1, -100, -100}, at::kLong), 4).weight == 2);
  const LossSum nothing = measured(loss, ramp({2, 4}), at::tensor({-100, -100}, at::kLong), 2);
  CHECK(nothing.sum == 0);
  CHECK(std::isnan(nothing.mean()));
  const Loss of_user = [](const at::Tensor& output, const at::Tensor&) { return output.mean(); };
  CHECK(measured(of_user, ramp({4, 2}), ramp({4, 2}), 4).weight == 4);
}

}  // namespace ddp::train
