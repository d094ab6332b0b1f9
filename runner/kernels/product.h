#pragma once

#include <cstddef>

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
  void operator()(const float* a, const float* b, const float* bias, const Ending& ending, float* out) const;

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

  // A matrix as the loops read it: panels of so many columns, each term by term.
  struct Panels {
    static constexpr std::ptrdiff_t kColumns = 64;
    float* column(std::ptrdiff_t i) const { return data + i / kColumns * panel + i % kColumns; }

    float* data;
    std::ptrdiff_t term, panel;  // strides
  };

  void call_blas(const float* a, const float* b, const float* bias, float* out) const;
  void choose(Order order);
  bool has_bits_of_blas() const;
  // Where a sum begins: BLAS takes a single term as it is, also a negative zero.
  float start() const { return k_ == 1 ? -0.0F : 0.0F; }
  Panels packed(const float* from, std::ptrdiff_t from_row, std::ptrdiff_t rows) const;
  Panels panels_of_b(const float* b) const;
  void multiply(const float* a, const float* b, const float* bias, const Ending& ending, float* out) const;
  void multiply_small(const float* a, const float* b, const float* bias, const Ending& ending, float* out) const;
  void multiply_transposed(const float* a, const float* b, const float* bias, const Ending& ending, float* out) const;

  Layout a_, b_;
  std::ptrdiff_t m_, n_, k_;
  bool has_bias_;
  Order order_ = Order::of_blas;
  std::ptrdiff_t block_;     // terms that are summed apart
  bool transposes_ = false;  // the loops compute out^T = b^T x a^T
};

}  // namespace ddp::kernels
