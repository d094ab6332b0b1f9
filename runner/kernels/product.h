#pragma once

namespace ddp::kernels {

// A matrix in memory: row after row, or column after column.
struct Matrix {
  const float* data = nullptr;
  bool by_columns = false;
  int stride = 0;  // between rows, or between columns
};

// out [m, n], row after row = a [m, k] x b [k, n], plus what is in `out` if `adds`. LibTorch's own sgemm, as
// at::mm and at::addmm call it.
void product(const Matrix& a, const Matrix& b, int m, int n, int k, bool adds, float* out);

}  // namespace ddp::kernels
