#include <ATen/ops/full.h>
#include <ATen/ops/linalg_vector_norm.h>
#include <ATen/ops/randn.h>

#include "catch.h"
#include "train/gradients.h"

namespace ddp::train {

TEST_CASE("the norm of a gradient of any length and layout has the bits of torch's operator") {
  for (const std::int64_t count : {1, 2, 7, 8, 9, 15, 16, 31, 100, 4097}) {
    const at::Tensor plain = at::randn({count});
    CHECK(norms_of({plain})[0].item<float>() == at::linalg_vector_norm(plain).item<float>());
    const at::Tensor image = at::randn({2, 3, count, 2}).contiguous(at::MemoryFormat::ChannelsLast);
    CHECK(norms_of({plain, image})[1].item<float>() == at::linalg_vector_norm(image).item<float>());
    const at::Tensor gaps = at::randn({count, 2}).select(1, 0);
    CHECK(norms_of({gaps})[0].item<float>() == at::linalg_vector_norm(gaps).item<float>());
    const at::Tensor wide = at::randn({count}, at::kDouble);
    CHECK(norms_of({wide})[0].item<double>() == at::linalg_vector_norm(wide).item<double>());
  }
}

TEST_CASE("gradients with a norm above the limit are scaled down together, and others stay unchanged") {
  const std::vector<at::Tensor> gradients{at::full({3}, 3.0), at::full({1, 1}, -3.0)};
  CHECK(Clip({.norm = 7.0, .value = {}})(gradients).item<double>() == 6);
  CHECK(gradients[0][0].item<double>() == 3);
  CHECK(Clip({.norm = 3.0, .value = {}})(gradients).item<double>() == 6);
  CHECK(gradients[0][0].item<double>() == Approx(1.5));
  CHECK(gradients[1].item<double>() == Approx(-1.5));
}

TEST_CASE("clipping by value limits each number and keeps NaN") {
  const at::Tensor gradient = at::full({3}, std::nanf(""));
  gradient[0] = 2;
  gradient[1] = -2;
  CHECK_FALSE(Clip({.norm = {}, .value = 0.5})({gradient}).defined());
  CHECK(gradient[0].item<double>() == 0.5);
  CHECK(gradient[1].item<double>() == -0.5);
  CHECK(std::isnan(gradient[2].item<double>()));
}

TEST_CASE("limits of 0 clip nothing") {
  CHECK_FALSE(Clip({.norm = 0.0, .value = {}}).on());
  CHECK_FALSE(Clip({.norm = {}, .value = 0.0}).on());
  CHECK(Clip({.norm = 1.0, .value = {}}).on());
}

}  // namespace ddp::train
