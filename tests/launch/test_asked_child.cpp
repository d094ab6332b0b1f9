#include <sys/wait.h>
#include <unistd.h>
#include <chrono>
#include <csignal>

#include "base/file_descriptor.h"
#include "catch.h"
#include "errors.h"
#include "launch/process/child.h"
#include "words.h"

namespace ddp::launch {

TEST_CASE("a child that does not answer is left at the deadline and killed; others are asked meanwhile") {
  const auto hour = std::chrono::steady_clock::now() + std::chrono::hours(1);
  {
    AskedChild silent("waiting", {}, [](int pipe) {
      write_all(pipe, "1", 1, "pipe");
      for (;;) pause();
    });
    AskedChild other("answering", {}, [](int pipe) { write_all(pipe, "42", 2, "pipe"); });
    CHECK(other.answer(hour) == "42");
    CHECK_FALSE(silent.answer(std::chrono::steady_clock::now()));
    CHECK_FALSE(silent.answer(std::chrono::steady_clock::now() + std::chrono::milliseconds(20)));
  }
  // It is a zombie of this process, unless it was reaped at once.
  int status = 0;
  if (waitpid(-1, &status, 0) > 0) CHECK((WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL));
}

TEST_CASE("a child that fails gives its reason instead of an answer") {
  AskedChild failing("dividing", {}, [](int) { throw training_error("by zero"); });
  CHECK(contains(error_of([&] { failing.answer(); }), "dividing failed: error: by zero"));
}

}  // namespace ddp::launch
