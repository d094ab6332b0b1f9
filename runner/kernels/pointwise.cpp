#include "kernels/pointwise.h"

#include "kernels/clones.h"

namespace ddp::kernels {

DDP_CLONES void scale(const float* a, float factor, float* out, std::int64_t count) {
  for (std::int64_t i = 0; i < count; ++i) out[i] = a[i] * factor;
}

DDP_CLONES void relu(const float* a, float* out, std::int64_t count) {
  for (std::int64_t i = 0; i < count; ++i) out[i] = a[i] < 0 ? 0 : a[i];
}

DDP_CLONES void threshold_backward(const float* gradient, const float* a, float threshold, float* out,
                                   std::int64_t count) {
  for (std::int64_t i = 0; i < count; ++i) {
    const float kept = gradient[i];  // read in any case: a vector needs no branch then
    out[i] = a[i] <= threshold ? 0 : kept;
  }
}

DDP_CLONES void squared_difference(const float* a, const float* b, float* out, std::int64_t count) {
  for (std::int64_t i = 0; i < count; ++i) {
    const float difference = a[i] - b[i];
    out[i] = difference * difference;
  }
}

DDP_CLONES void mse_backward(float gradient, const float* a, const float* b, float factor, float* out,
                             std::int64_t count) {
  for (std::int64_t i = 0; i < count; ++i) out[i] = factor * (a[i] - b[i]) * gradient;
}

}  // namespace ddp::kernels
