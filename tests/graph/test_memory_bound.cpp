#include <sys/wait.h>
#include <unistd.h>

#include <vector>

#include <ATen/Functions.h>

#include "graph/executor.h"
#include "one_call.h"

namespace ddp::graph {
namespace {

// Runs a function in a process of its own, which the memory bound ends with. Returns its exit status, or -1.
template <class Function>
int status_of(Function function) {
  const pid_t child = fork();
  REQUIRE(child >= 0);
  if (child == 0) _exit(function());
  int status = 0;
  REQUIRE(waitpid(child, &status, 0) == child);
  return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

constexpr int kAdmitted = 3;
constexpr int kRefused = 4;

// Requests this many tensors, each a share of the free memory, and writes to none of them.
int ask_for(int count, double share) {
  const auto bytes = static_cast<std::int64_t>(static_cast<double>(bound_memory()) * share);
  std::vector<at::Tensor> tensors;
  try {
    for (int i = 0; i < count; ++i) tensors.push_back(at::empty({bytes}, at::kByte));
    return kAdmitted;
  } catch (const c10::Error& error) {
    return contains(error.msg(), "can't allocate memory") ? kRefused : 1;
  }
}

}  // namespace

TEST_CASE("a graph that needs more memory than the machine has gets an error") {
  CHECK(status_of([] { return ask_for(1, 0.6); }) == kAdmitted);
  CHECK(status_of([] { return ask_for(2, 0.6); }) == kRefused);
}

}  // namespace ddp::graph
