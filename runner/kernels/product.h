#pragma once

#include <cstddef>
#include <vector>

namespace ddp::kernels {

// A matrix in memory: row after row, or column after column.
struct Layout {
  bool by_columns = false;
  int stride = 0;  // between rows, or between columns
};

// out [m, n], row after row = a [m, k] x b [k, n], with the bits of LibTorch's sgemm, as at::mm and at::addmm call it.
//
// BLAS does not say in which order it adds the terms of a number, but the order depends on sizes and layouts alone. The
// constructor multiplies random numbers by sgemm, and by loops of ours in the order that MKL uses on processors of AMD.
// If all bits are equal, the loops are used: they are faster, above all for matrices of few rows, and they end with
// what follows the product. The loops use one thread.
class Product {
 public:
  // `has_bias`: rows of a bias are added. `threads`: of sgemm.
  Product(Layout a, Layout b, int m, int n, int k, bool has_bias, int threads);

  // What follows the product, number by number.
  struct Ending {
    bool relu = false;            // at::relu
    const float* gate = nullptr;  // [m, n]: 0 where it is at most `threshold` (at::threshold_backward)
    float threshold = 0;
    bool scales = false;  // at last, by `factor`
    float factor = 1;
  };
  // `bias`: [n]; read if the product has one.
  void operator()(const float* a, const float* b, const float* bias, const Ending& ending, float* out);

  bool has_bias() const { return has_bias_; }
  // Whether it can have an ending, and one with a gate.
  bool takes_ending() const { return order_ != Order::of_blas; }
  bool takes_gate() const { return order_ != Order::of_blas && !transposes_; }

 private:
  // The order in which the terms of a number are added.
  enum class Order {
    of_blas,  // another one: sgemm computes the product
    blocks,   // fused multiplications and additions; blocks of terms are summed apart
    small,    // MKL's for small matrices: each product is rounded, and borders of 16 bytes matter
  };

  void call_blas(const float* a, const float* b, const float* bias, float* out) const;
  void lay_out(Order order);
  void pack(const float* from, std::ptrdiff_t from_row, std::ptrdiff_t rows);
  void multiply(const float* a, const float* b, const float* bias, const Ending& ending, float* out);
  void multiply_small(const float* a, const float* b, const float* bias, const Ending& ending, float* out);
  void multiply_transposed(const float* a, const float* b, const float* bias, const Ending& ending, float* out);

  Layout a_, b_;
  std::ptrdiff_t m_, n_, k_;
  bool has_bias_;
  Order order_ = Order::of_blas;
  std::ptrdiff_t block_;             // terms that are summed apart
  bool transposes_ = false;          // the loops compute out^T = b^T x a^T
  std::ptrdiff_t panel_stride_ = 0;  // from term to term
  std::vector<float> panels_;        // an operand that does not lie as the loops read it
};

}  // namespace ddp::kernels
