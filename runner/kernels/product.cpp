#include "kernels/product.h"

// Of BLAS, in LibTorch: matrices are column after column.
extern "C" void sgemm_(const char* transpose_a, const char* transpose_b, const int* m, const int* n, const int* k,
                       const float* alpha, const float* a, const int* stride_a, const float* b, const int* stride_b,
                       const float* beta, float* c, const int* stride_c);

namespace ddp::kernels {

void product(const Matrix& a, const Matrix& b, int m, int n, int k, bool adds, float* out) {
  const float one = 1;
  const float beta = adds ? 1 : 0;
  // The transposed product: out^T = b^T x a^T.
  sgemm_(b.by_columns ? "t" : "n", a.by_columns ? "t" : "n", &n, &m, &k, &one, b.data, &b.stride, a.data, &a.stride,
         &beta, out, &n);
}

}  // namespace ddp::kernels
