#include <ATen/ATen.h>

#include "catch.h"
#include "train/operator_times.h"

namespace ddp::train {
namespace {

// Of all operators that `work` calls.
template <class Work>
double operations_of(const Work& work) {
  OperatorTimes times;
  work();
  times.stop();
  double all = 0;
  for (const auto& [name, row] : times.rows()) all += row.operations;
  return all;
}

at::Tensor trained(at::IntArrayRef sizes) { return at::ones(sizes).requires_grad_(); }

}  // namespace

// torch/utils/flop_counter.py counts these numbers.
TEST_CASE("operations are counted once, from the shapes of products, convolutions and attention") {
  const at::Tensor x = trained({4, 5}), w = trained({6, 5}), b = trained({6});
  at::Tensor y;
  CHECK(operations_of([&] { y = at::linear(x, w, b).sum(); }) == 2 * 4 * 5 * 6);
  CHECK(operations_of([&] { y.backward(); }) == 2 * 2 * 4 * 5 * 6);
  CHECK(operations_of([&] { at::matmul(at::ones({3, 4, 5}), at::ones({3, 5, 6})); }) == 3 * 2 * 4 * 5 * 6);

  const at::Tensor image = trained({2, 4, 8, 8}), filter = trained({6, 2, 3, 3});  // two groups
  CHECK(operations_of([&] { y = at::conv2d(image, filter, {}, 2, 1, 1, 2).sum(); }) ==
        2 * (2 * 6 * 4 * 4) * (2 * 3 * 3));
  CHECK(operations_of([&] { y.backward(); }) == 2 * 2 * (2 * 6 * 4 * 4) * (2 * 3 * 3));
  const at::Tensor upward = at::ones({4, 3, 2, 2});
  CHECK(operations_of([&] {
          at::conv_transpose2d(at::ones({2, 4, 8, 8}), upward, {}, 2);
        }) == 2 * (2 * 4 * 8 * 8) * (3 * 2 * 2));

  const at::Tensor q = trained({2, 3, 7, 8});
  CHECK(operations_of([&] { y = at::scaled_dot_product_attention(q, q, q).sum(); }) == 2 * 2 * (2 * 3 * 7 * 8) * 7);
  CHECK(operations_of([&] { y.backward(); }) == 5 * 2 * (2 * 3 * 7 * 8) * 7);
}

TEST_CASE("the peak is measured for types without instructions too, with smaller products") {
  CHECK(peak_rate(c10::kCPU, at::kHalf) > 0);
  CHECK(peak_rate(c10::kCPU, at::kFloat) > 0);
}

TEST_CASE("an operator that another one calls belongs to the outer one") {
  OperatorTimes times;
  at::linear(at::ones({4, 5}), at::ones({6, 5}));
  times.count(false);
  at::relu(at::ones({3}));
  times.stop();
  at::tanh(at::ones({3}));
  CHECK(times.rows().at("linear").calls == 1);
  CHECK(times.rows().at("linear").seconds > 0);
  CHECK(times.rows().at("ones").calls == 2);
  CHECK(times.rows().size() == 2);
}

}  // namespace ddp::train
