// Times the overhead of running a model's graph, without its operators (runner/graph/executor.h).
//
//   bench_graph CALLS RUNS
//
// Prints the microseconds of one of CALLS additions of single numbers, the minimum of RUNS repetitions: first called
// from a list, then the same calls written in C++.

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <limits>

#include <ATen/core/grad_mode.h>
#include <ATen/ops/add.h>
#include <ATen/ops/ones.h>

#include "graph/executor.h"

namespace {

using ddp::graph::CallList;

// y = x + x, followed by calls - 1 times y = y + x.
CallList additions(int calls) {
  CallList list;
  list.operators.push_back(std::make_unique<const c10::OperatorHandle>(
      c10::Dispatcher::singleton().findSchemaOrThrow("aten::add", "Tensor")));
  list.values.resize(static_cast<std::size_t>(calls) + 1);
  list.inputs = {0};
  for (int i = 0; i < calls; ++i) {
    CallList::Call call{.operation = list.operators.front().get(),
                        .arguments = {c10::IValue(), c10::IValue(), c10::IValue(1)},
                        .late = {{.place = 0, .elements = {{.slot = i}}}, {.place = 1, .elements = {{.slot = 0}}}},
                        .results = {{.slots = {i + 1}}}};
    if (i > 0) call.last_uses = {i};
    list.calls.push_back(std::move(call));
  }
  list.outputs = {{"y", calls}};
  return list;
}

template <class Function>
double least_microseconds(int runs, const Function& function) {
  double least = std::numeric_limits<double>::infinity();
  for (int run = 0; run < runs; ++run) {
    const auto begin = std::chrono::steady_clock::now();
    function();
    least =
        std::min(least, std::chrono::duration<double, std::micro>(std::chrono::steady_clock::now() - begin).count());
  }
  return least;
}

}  // namespace

int main(int argc, char** argv) {
  const int calls = argc > 1 ? std::atoi(argv[1]) : 1000;
  const int runs = argc > 2 ? std::atoi(argv[2]) : 1000;
  if (calls < 1 || runs < 1) return 2;
  const at::NoGradGuard no_grad;
  const at::Tensor x = at::ones({1});
  ddp::graph::Executor executor(additions(calls));
  at::Tensor sum;
  const double listed = least_microseconds(runs, [&] { sum = executor.run({x}).front().second; });
  const float of_list = sum.item<float>();
  const double written = least_microseconds(runs, [&] {
    sum = x;
    for (int i = 0; i < calls; ++i) sum = at::add(sum, x);
  });
  if (sum.item<float>() != of_list) return 1;
  std::printf("%.4f %.4f\n", listed / calls, written / calls);
  return 0;
}
