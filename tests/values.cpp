#include "values.h"

#include <cstdlib>
#include <fstream>
#include <sstream>

#include <ATen/Version.h>
#include <ATen/ops/allclose.h>
#include <ATen/ops/arange.h>
#include <ATen/ops/equal.h>
#include <ATen/ops/tensor.h>

namespace ddp {
namespace {

// LibTorch reads this at its first operation. Another vector width would round sums and the last elements of a tensor
// differently.
const bool narrow_vectors = setenv("ATEN_CPU_CAPABILITY", "avx2", /*overwrite=*/1) == 0;

bool has_avx2() { return narrow_vectors && at::get_cpu_capability() == "AVX2"; }

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

bool nearly_same(const at::Tensor& a, const at::Tensor& b) {
  return a.sizes() == b.sizes() && at::allclose(a, b, /*rtol=*/0, /*atol=*/1e-5);
}

}  // namespace ddp
