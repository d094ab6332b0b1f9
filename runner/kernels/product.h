#pragma once

#include <cstddef>
#include <vector>

namespace ddp::kernels {

// A matrix in memory: row after row, or column after column.
struct Layout {
  bool by_columns = false;
  int stride = 0;  // between rows, or between columns
};

// The order in which the terms of each number of a product are added. It depends on sizes and layouts, not on numbers.
enum class Order {
  of_blas,  // any: LibTorch's sgemm computes the product
  blocks,   // fused multiplications and additions; blocks of terms are summed apart. MKL's on processors of AMD
  small,    // its order for small matrices: each term is rounded, and borders of 16 bytes matter
};

// Returns the orders in which a product [m, k] x [k, n] can be computed on this machine, the fastest first.
std::vector<Order> orders_for(const Layout& a, const Layout& b, int k);

// out [m, n], row after row = a [m, k] x b [k, n], plus rows of a bias. The loops of an order other than BLAS's use one
// thread; they are faster than sgemm, above all for matrices of few rows, and end with what follows the product.
class Product {
 public:
  Product(Layout a, Layout b, int m, int n, int k, bool has_bias, Order order);

  // Changes each number of the product, in this order.
  struct Ending {
    bool relu = false;            // at::relu
    const float* gate = nullptr;  // [m, n]: 0 where it is at most `threshold` (at::threshold_backward)
    float threshold = 0;
    bool scales = false;  // by `factor`
    float factor = 1;
  };
  // `bias`: [n]; read if the product has one.
  void operator()(const float* a, const float* b, const float* bias, const Ending& ending, float* out) const;

  bool has_bias() const { return has_bias_; }
  // Whether it can have an ending, and one with a gate.
  bool takes_ending() const { return order_ != Order::of_blas; }
  bool takes_gate() const { return order_ != Order::of_blas && !transposes_; }

 private:
  // A matrix as the loops read it: panels of so many columns, each term by term.
  struct Panels {
    static constexpr std::ptrdiff_t kColumns = 64;
    float* column(std::ptrdiff_t i) const { return data + i / kColumns * panel + i % kColumns; }

    float* data;
    std::ptrdiff_t term, panel;  // strides
  };

  void call_blas(const float* a, const float* b, const float* bias, float* out) const;
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
  Order order_;
  std::ptrdiff_t block_;  // terms that are summed apart
  bool transposes_;       // the loops compute out^T = b^T x a^T
};

}  // namespace ddp::kernels
