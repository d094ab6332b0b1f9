#include <ATen/ops/tensor.h>

#include "catch.h"
#include "errors.h"
#include "train/loss/loss.h"
#include "values.h"
#include "words.h"

namespace ddp::train {
namespace {

using Json = nlohmann::json;

// The targets that compute.py has for a case.
at::Tensor targets_of(const std::string& title, const at::Tensor& output) {
  const bool classes = title == "cross_entropy classes" || title == "cross_entropy smoothing";
  return classes ? at::tensor({3, 0, 2, 2, 1}, at::kLong) : ramp(output.sizes().vec(), 4);
}

std::string refusal(const std::string& loss, const at::Tensor& output, const at::Tensor& target) {
  return error_of([&] { losses().build(loss, Json::object())(output, target); });
}

}  // namespace

TEST_CASE("each loss has PyTorch's value and gradient, bit for bit") {
  const Json cases = kept_values("train", "losses");
  REQUIRE(cases.size() == 5);
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

TEST_CASE("cross_entropy takes the outputs of a text with the classes last, also where torch's form would fit too") {
  const Loss loss = losses().build("cross_entropy", Json::object());
  for (const std::int64_t classes : {3, 5}) {
    const at::Tensor output = ramp({2, 3, classes});
    const at::Tensor target = at::tensor({0, 2, 1, 1, 2, 0}, at::kLong).view({2, 3});
    CHECK(same_bits(loss(output, target), loss(output.reshape({6, classes}), target.flatten())));
  }
  // Torch's form, classes in the second dimension, where the shapes say so.
  const at::Tensor output = ramp({2, 4, 3});
  const at::Tensor target = at::tensor({0, 2, 1, 1, 2, 0}, at::kLong).view({2, 3});
  CHECK(nearly_same(loss(output, target), loss(output.transpose(1, 2).reshape({6, 4}), target.flatten())));
}

TEST_CASE("outputs and targets that do not fit are refused with both shapes and what the loss needs") {
  CHECK(contains(refusal("mse", ramp({4, 2}), ramp({4})), "values of shape [4, 2] for targets of shape [4]"));
  CHECK(contains(refusal("mse", ramp({4, 2}), ramp({4, 1})), "mse needs them equal"));
  CHECK(contains(refusal("mse", ramp({4, 2}), at::tensor({1, 2, 3, 0}, at::kLong)), "use loss = \"cross_entropy\""));
  CHECK(contains(refusal("cross_entropy", ramp({4}), at::tensor({1, 2, 3, 0}, at::kLong)),
                 "values of shape [4] for targets of shape [4]"));
  CHECK(contains(refusal("cross_entropy", ramp({4, 2}), ramp({4, 3})),
                 "cross_entropy needs outputs [n, classes] with class indices [n] or probabilities [n, classes]"));
}

}  // namespace ddp::train
