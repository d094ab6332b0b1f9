#include "values.h"

#include <cmath>
#include <cstdlib>
#include <fstream>
#include <sstream>

#include <ATen/Version.h>
#include <ATen/ops/allclose.h>
#include <ATen/ops/arange.h>
#include <ATen/ops/div.h>
#include <ATen/ops/equal.h>
#include <ATen/ops/sqrt.h>
#include <ATen/ops/tensor.h>

namespace ddp {
namespace {

// LibTorch reads this at its first operation. Another vector width would round sums and the last elements of a tensor
// differently. A soak asks for others (scripts/soak replay).
const bool narrow_vectors = setenv("ATEN_CPU_CAPABILITY", "avx2", /*overwrite=*/0) == 0;

bool has_avx2() { return narrow_vectors && at::get_cpu_capability() == "AVX2"; }

// MKL takes the square roots of tensors. It rounds them as IEEE 754 asks on processors of AMD, where the values were
// computed, but not on those of Intel.
bool has_exact_roots() {
  const at::Tensor numbers = at::arange(1, 1000).to(at::kFloat).div(7), roots = numbers.sqrt();
  for (std::int64_t i = 0; i < numbers.numel(); ++i) {
    if (roots.const_data_ptr<float>()[i] != std::sqrt(numbers.const_data_ptr<float>()[i])) return false;
  }
  return true;
}

}  // namespace

nlohmann::json kept_values(const std::string& folder, const std::string& file) {
  std::ifstream in(std::string(DDP_SOURCE "/tests/") + folder + "/values/" + file + ".json");
  return nlohmann::json::parse(in);
}

at::Tensor kept_tensor(const nlohmann::json& kept) {
  std::istringstream words(kept.at("values").get<std::string>());
  std::vector<float> values;
  for (std::string word; words >> word;) values.push_back(std::strtof(word.c_str(), nullptr));
  return at::tensor(values, at::kFloat).reshape(kept.at("shape").get<std::vector<std::int64_t>>());
}

at::Tensor ramp(const std::vector<std::int64_t>& shape, std::int64_t shift) {
  std::int64_t count = 1;
  for (const std::int64_t size : shape) count *= size;
  const at::Tensor number = at::arange(count, at::kLong);
  return ((number * 5 + shift).remainder(11) - 5).to(at::kFloat).div(10).reshape(shape);
}

bool same_bits(const at::Tensor& a, const at::Tensor& b) {
  return has_avx2() ? a.sizes() == b.sizes() && at::equal(a, b) : nearly_same(a, b);
}

bool same_but_for_roots(const at::Tensor& a, const at::Tensor& b) {
  static const bool exact = has_exact_roots();
  return exact ? same_bits(a, b) : nearly_same(a, b);
}

bool nearly_same(const at::Tensor& a, const at::Tensor& b) {
  return a.sizes() == b.sizes() && at::allclose(a, b, /*rtol=*/0, /*atol=*/1e-5);
}

}  // namespace ddp
