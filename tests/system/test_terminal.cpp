#include <regex>

#include "catch.h"
#include "workspace.h"

namespace ddp::system_test {
namespace {

const Words kEndless{"run", "small.toml", "--set", "epochs=1000000", "--set", "log.every=50"};

}  // namespace

TEST_CASE("on a terminal a live line shows epoch, step, loss, samples per second and the time left") {
  const Workspace w("small.toml", kSmall);
  const auto process = w.start(kEndless, {}, /*terminal=*/true);
  const std::regex line(
      "\repoch [0-9]+/1000000 \\| step [0-9]+/7000000 \\| loss [0-9.e-]+[^|]* \\| [0-9]+ samples/s \\|.* "
      "[0-9][^|]* left\033\\[K");
  CHECK(wait_until([&] { return std::regex_search(process->err(), line); }, process->pid()));
  process->signal(SIGINT);
  CHECK(w.finish(*process).code == 130);
  // The last line has no remains of longer text.
  const std::string shown = process->err();
  CHECK(shown.ends_with("\n"));
  CHECK(contains(shown, "Epoch 0 done | train_loss"));
}

TEST_CASE("the live line says how far a validation is, and list and show of another terminal how far the run is") {
  const Workspace w("small.toml", kSmall + "[validation]\nsplit = 0.5\nbatch_size = 1\n");
  const auto process =
      w.start({"run", "small.toml", "--set", "epochs=1000000", "--set", "dataset.size=160000", "--set", "log.every=50"},
              {}, /*terminal=*/true);
  const std::regex line("step [0-9]+/[0-9]+ \\| loss [0-9.e-]+[^|]* \\| validating [0-9]+/80000 \\|.* [0-9][^|]* left");
  CHECK(wait_until([&] { return std::regex_search(process->err(), line); }, process->pid()));
  const std::string shown = w.run({"show", "small"}).out;
  CHECK(std::regex_search(shown, std::regex("trained +[0-9]+ epochs?, [0-9]+ of [0-9]+ steps in .* left\n")));
  CHECK(std::regex_search(w.run({"list"}).out, std::regex("running +[0-9]+ +[0-9]+ of [0-9]+ +[0-9]")));
  process->signal(SIGINT);
  CHECK(w.finish(*process).code == 130);
}

TEST_CASE("with NO_COLOR or a dumb terminal the output has no live line and no escape code") {
  const Workspace w("small.toml", kSmall);
  for (const auto& environment : std::vector<Environment>{{{"NO_COLOR", "1"}}, {{"TERM", "dumb"}}}) {
    const auto process = w.start({"run", "small.toml"}, environment, /*terminal=*/true);
    const Outcome run = w.ends(0, *process, {"Epoch 3 done | train_loss"});
    CHECK_FALSE(contains(run.err, "\033"));
    CHECK_FALSE(contains(run.err, "samples/s |"));
  }
}

TEST_CASE("on a terminal a completed run ends with its time, its best figure, its test and its folder") {
  const Workspace w("small.toml", kSmall + "[validation]\nsplit = 0.5\n[test]\nsplit = 0.2\n");
  const auto process = w.start({"run", "small.toml"}, {}, /*terminal=*/true);
  const Outcome run = w.ends(0, *process);
  const std::regex closing(
      "completed in [^|]*, [0-9]+ samples/s \\| best val_loss [0-9.e-]+ after step [0-9]+ \\| test_loss [0-9.e-]+ \\| "
      "results/small/");
  CHECK(std::regex_search(run.err, closing));
}

TEST_CASE("mistakes are printed without color if NO_COLOR is set, and have no escape code in a file") {
  const Workspace w("bad.toml", "model = 3\n");
  for (const bool terminal : {false, true}) {
    const auto process = w.start({"run", "bad.toml"}, {{"NO_COLOR", "1"}}, terminal);
    const Outcome run = w.ends(2, *process, {"bad.toml:1"});
    CHECK_FALSE(contains(run.err, "\033"));
  }
}

}  // namespace ddp::system_test
