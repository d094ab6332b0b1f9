#pragma once

#include <string>

#include <ATen/core/Tensor.h>
#include <nlohmann/json.hpp>

namespace ddp {

// The results of PyTorch's Python in tests/FOLDER/values/FILE.json: a table of cases by title. compute.py beside it
// made each of them; `DDP_VALUES=write scripts/test -R "kept values"` computes all of them again.
nlohmann::json kept_values(const std::string& folder, const std::string& file);

// A tensor of such a case, float32.
at::Tensor kept_tensor(const nlohmann::json& kept);

// -0.5 to 0.5 in steps of 0.1, as in kept_values.py.
at::Tensor ramp(const std::vector<std::int64_t>& shape, std::int64_t shift = 0);

// Returns true for the same shape and the same bits. The values were computed with AVX2: on processors without it,
// nearly the same values are enough.
bool same_bits(const at::Tensor& a, const at::Tensor& b);
// The same for values that square roots enter: on processors of Intel MKL gives others.
bool same_but_for_roots(const at::Tensor& a, const at::Tensor& b);
// The same shape, and values within 1e-5: matrix products depend on the processor.
bool nearly_same(const at::Tensor& a, const at::Tensor& b);

}  // namespace ddp
