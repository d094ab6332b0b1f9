#pragma once

#include <string>

#include <ATen/core/Tensor.h>
#include <nlohmann/json.hpp>

namespace ddp {

// The results of PyTorch's Python in tests/FOLDER/values/FILE.json: a table of cases by title. compute.py beside it
// says how each was made; `DDP_VALUES=write scripts/test -R "kept values"` computes all of them anew.
nlohmann::json kept_values(const std::string& folder, const std::string& file);

// A tensor of such a case, float32.
at::Tensor kept_tensor(const nlohmann::json& kept);

// -0.5 to 0.5 in steps of 0.1, as kept_values.py makes it.
at::Tensor ramp(const std::vector<std::int64_t>& shape, std::int64_t shift = 0);

// The same shape and the same bits. On processors without AVX2, on which the values were computed: nearly the same.
bool same_bits(const at::Tensor& a, const at::Tensor& b);
// The same shape, and values within 1e-5: matrix products depend on the processor.
bool nearly_same(const at::Tensor& a, const at::Tensor& b);

}  // namespace ddp
