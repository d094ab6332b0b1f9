#include <filesystem>
#include <string>

#include <stdlib.h>

#include "base/error.h"
#include "catch.h"
#include "runs/trained.h"
#include "errors.h"
#include "scratch_folder.h"
#include "words.h"

namespace ddp::runs {
namespace fs = std::filesystem;
namespace {

// A run with the checkpoint step-00000002.
struct Run : ScratchFolder {
  Run() { fs::create_directories(folder() / "checkpoints" / "step-00000002"); }

  Error unreadable(const std::string& step) const {
    return usage_error("cannot be read", (folder() / "checkpoints" / ("step-" + step) / "state.json").string());
  }
  // Returns the number of attempts of a use that fails with this error `failures` times, and the error at its end.
  std::pair<int, std::string> attempts(const Error& error, int failures) const {
    int attempts = 0;
    const std::string end = error_of([&] {
      while_saving(record::RunDirectory(folder()), [&] {
        if (attempts++ < failures) throw error;
      });
    });
    return {attempts, end};
  }
};

}  // namespace

TEST_CASE("a command that lost its checkpoint to a run that saves takes the next one") {
  const Run run;
  CHECK(run.attempts(run.unreadable("00000001"), 2) == std::pair(3, std::string()));
  const auto [attempts, end] = run.attempts(run.unreadable("00000001"), 100);
  CHECK(attempts == 10);
  CHECK(contains(end, "the run replaced step-00000001 meanwhile"));
  CHECK(contains(end, "try again"));
}

TEST_CASE("an error that no replaced checkpoint explains is thrown at once") {
  const Run run;
  CHECK(run.attempts(run.unreadable("00000002"), 100) == std::pair(1, std::string(run.unreadable("00000002").what())));
  CHECK(run.attempts(usage_error("is wrong", "--set 1"), 100).first == 1);
}

}  // namespace ddp::runs
