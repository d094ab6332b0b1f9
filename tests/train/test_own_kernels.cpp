#include <cstring>
#include <functional>
#include <string>
#include <vector>

#include <ATen/CPUGeneratorImpl.h>
#include <ATen/Functions.h>
#include <ATen/Parallel.h>

#include "catch.h"
#include "train/replay/recorder.h"

namespace ddp::train {
namespace {

// The names of the recorded calls for which there is no kernel of ours with the same bits.
std::vector<std::string> without_kernel(const std::function<void()>& work) {
  Recording recording;
  {
    const Recorder recorder(recording);
    work();
  }
  std::vector<std::string> names;
  for (const RecordedCall& call : recording.calls) {
    const bool is_view = call.operation.schema().name() == "aten::t";
    if (!call.kernel && !is_view) names.push_back(call.operation.schema().name());
  }
  return names;
}

// Our products use one thread: with more of them, sgemm stays.
struct OneThread {
  OneThread() { at::set_num_threads(1); }
  ~OneThread() { at::set_num_threads(before); }
  const int before = at::get_num_threads();
};

// Sizes at the borders of vectors, of blocks of columns, and of the runs of a cascade of sums.
const std::vector<std::int64_t> kSizes = {1, 2, 3, 5, 7, 8, 9, 16, 31, 33, 64, 100, 129};
const std::vector<std::int64_t> kManyRows = {2, 3, 15, 16, 17, 63, 64, 65, 100, 255, 257, 1000, 4099};

}  // namespace

// A machine whose ATen adds in another order has no kernel of ours for the sum: then only speed is lost.
TEST_CASE("our kernels have the bits of ATen's for many sizes") {
  for (const std::int64_t rows : kSizes) {
    for (const std::int64_t columns : kSizes) {
      INFO("sizes " << rows << ", " << columns);
      const at::Tensor a = at::randn({rows, columns}), b = at::randn({rows, columns});
      const at::Tensor weight = at::randn({9, columns}), bias = at::randn({9}), gradient = at::randn({rows, 9});
      const at::Tensor one = at::ones({}), half = at::scalar_tensor(0.5, at::kDouble);
      CHECK(without_kernel([&] { at::addmm(bias, a, weight.t()); }).empty());
      // ATen computes a single number by another function of BLAS.
      const bool is_single = rows == 1 && columns == 1;
      CHECK((is_single || without_kernel([&] { gradient.mm(weight); }).empty()));
      CHECK(without_kernel([&] { gradient.t().mm(a); }).empty());
      CHECK(without_kernel([&] { at::relu(a); }).empty());
      CHECK(without_kernel([&] { at::threshold_backward(a, b, 0); }).empty());
      CHECK(without_kernel([&] { at::mse_loss(a, b); }).empty());
      CHECK(without_kernel([&] { at::mse_loss_backward(one, a, b, at::Reduction::Mean); }).empty());
      CHECK(without_kernel([&] { at::mul(a, half); }).empty());
    }
  }
}

// Rows of more than 192 terms are summed in blocks. The numbers do not begin at a cache line, as views of a batch may.
TEST_CASE("our products have the bits of ATen's for short and long sums") {
  const OneThread one_thread;
  const auto matrix = [](std::int64_t rows, std::int64_t columns) {
    return at::randn({rows * columns + 1}).slice(0, 1).view({rows, columns});
  };
  for (const std::int64_t terms : {1, 10, 191, 192, 193, 300, 383, 384, 385, 577, 784}) {
    for (const std::int64_t rows : {1, 4, 11, 20, 64, 150}) {
      for (const std::int64_t columns : {2, 8, 10, 24, 63, 64, 65, 300}) {
        INFO("sizes " << rows << ", " << columns << ", " << terms);
        const at::Tensor a = matrix(rows, terms), b = matrix(terms, columns), bias = at::randn({columns});
        const at::Tensor weight = matrix(columns, terms), gradient = matrix(terms, rows);
        CHECK(without_kernel([&] { a.mm(b); }).empty());
        CHECK(without_kernel([&] { at::addmm(bias, a, weight.t()); }).empty());
        CHECK(without_kernel([&] { gradient.t().mm(b); }).empty());
      }
    }
  }
}

// Few numbers often have the same bits in two orders of additions: the kernel that one call got computes many others.
// Half of the numbers are zeros of both signs.
TEST_CASE("our products of few numbers have the bits of ATen's, and the signs of its zeros") {
  const OneThread one_thread;
  constexpr int kDraws = 30;
  const auto draw = [](std::int64_t rows, std::int64_t columns) {
    const at::Tensor numbers = at::randn({rows * columns + 3}) * at::randint(0, 2, {rows * columns + 3});
    return numbers.slice(0, 3).view({rows, columns});
  };
  const auto kernel_of = [](const std::function<void()>& work) {
    Recording recording;
    {
      const Recorder recorder(recording);
      work();
    }
    return recording.calls.back().kernel;
  };
  for (const int terms : {1, 2, 3, 4, 7, 8, 12, 16}) {
    for (const int rows : {1, 2, 4, 5}) {
      for (const int columns : {1, 2, 3, 10}) {
        INFO("sizes " << rows << ", " << columns << ", " << terms);
        Kernel forward, backward;
        bool same = true;
        for (int i = 0; i < kDraws; ++i) {
          const at::Tensor x = draw(rows, terms), weight = draw(columns, terms).t(), bias = draw(1, columns)[0];
          const at::Tensor gradient = draw(terms, rows).t(), input = draw(terms, columns);
          if (i == 0) {
            forward = kernel_of([&] { at::addmm(bias, x, weight); });
            backward = kernel_of([&] { gradient.mm(input); });
          }
          const at::Tensor out = at::empty({rows, columns});
          const auto gives = [&](const Kernel& kernel, std::vector<const at::Tensor*> operands,
                                 const at::Tensor& result) {
            operands.insert(operands.begin(), &out);
            if (kernel) kernel.run(operands.data());
            return !kernel || std::memcmp(out.const_data_ptr(), result.const_data_ptr(), out.nbytes()) == 0;
          };
          same = same && gives(forward, {&bias, &x, &weight}, at::addmm(bias, x, weight));
          same = same && gives(backward, {&gradient, &input}, gradient.mm(input));
        }
        CHECK(same);
      }
    }
  }
}

TEST_CASE("our sums of rows have the bits of ATen's for long and short columns") {
  for (const std::int64_t rows : kManyRows) {
    for (const std::int64_t columns : kSizes) {
      INFO("sizes " << rows << ", " << columns);
      const at::Tensor matrix = at::randn({rows, columns});
      CHECK(without_kernel([&] { at::sum(matrix, {0}, true); }).empty());
    }
  }
}

TEST_CASE("our masks of dropout are ATen's, and leave the generator as ATen does") {
  at::Generator generator = at::detail::getDefaultCPUGenerator();
  for (const std::int64_t size : {1, 2, 311, 312, 313, 624, 5000}) {
    for (const double p : {0.0, 0.1, 1.0 / 3, 0.5, 0.9, 1.0}) {
      INFO("size " << size << ", p " << p);
      at::manual_seed(3);
      if (size % 2 == 0) at::check_generator<at::CPUGeneratorImpl>(generator)->random();  // begins at an odd word
      const at::Tensor before = generator.get_state(), mask = at::empty({size});
      Recording recording;
      {
        const Recorder recorder(recording);
        mask.bernoulli_(p);
      }
      const at::Tensor expected = mask.clone(), after = generator.get_state();
      REQUIRE(recording.calls.back().kernel);
      generator.set_state(before);
      mask.fill_(2);
      const std::vector<const at::Tensor*> operands = {&mask, &mask};
      recording.calls.back().kernel.run(operands.data());
      CHECK(mask.equal(expected));
      CHECK(generator.get_state().equal(after));
    }
  }
}

TEST_CASE("calls that our kernels do not know are left to ATen") {
  const at::Tensor a = at::randn({4, 5}), strided = at::randn({8, 10}).slice(0, 0, 8, 2).slice(1, 0, 10, 2);
  using Names = std::vector<std::string>;
  CHECK(without_kernel([&] { at::relu(strided); }) == Names{"aten::relu"});
  CHECK(without_kernel([&] { at::mse_loss(a, a, at::Reduction::Sum); }) == Names{"aten::mse_loss"});
  const at::Tensor doubles = at::randn({5, 5}, at::kDouble), square = at::randn({5, 5});
  CHECK(without_kernel([&] { doubles.mm(doubles); }) == Names{"aten::mm"});
  CHECK(without_kernel([&] { at::addmm(square, square, square); }) == Names{"aten::addmm"});
}

}  // namespace ddp::train
