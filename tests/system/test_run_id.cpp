#include "catch.h"
#include "finished_run.h"
#include "tables.h"

namespace ddp::system_test {
namespace {

Outcome run_again(const Workspace& w, const std::vector<std::string>& more = {},
                  const std::map<std::string, std::string>& environment = {}) {
  std::vector<std::string> arguments{"run", "small.toml", "--run-id", "one"};
  arguments.insert(arguments.end(), more.begin(), more.end());
  return w.run(arguments, environment);
}

std::string replaced(std::string text, const std::string& from, const std::string& to) {
  return text.replace(text.find(from), from.size(), to);
}

}  // namespace

TEST_CASE("run --run-id of an existing run refuses a file with other settings, and names the ways to go on") {
  const Workspace w;
  w.write("small.toml", kSmall);
  REQUIRE(run_again(w).code == 0);
  w.write("small.toml", replaced(replaced(kSmall, "lr = 0.01", "lr = 0.02"), "epochs      = 4", "epochs = 5"));
  const Outcome other = run_again(w);
  INFO(other.err);
  CHECK(other.code == 2);
  CHECK(contains(other.err, "this run has other settings than small.toml:\n"));
  CHECK(contains(other.err, "  optimizer.lr was 0.01, now 0.02\n"));
  CHECK(contains(other.err, "  epochs was 4, now 5\n"));
  CHECK(contains(other.err, " resume results/small/one`"));
  const RunFolder run(w.results() / "small/one");
  CHECK(run.has_each_step_once(28));
  CHECK(w.run({"resume", "results/small/one", "--set", "optimizer.lr=0.02", "--set", "epochs=5"}).code == 0);
  CHECK(run.has_each_step_once(35));
  // The run has these settings now.
  CHECK(run_again(w).code == 0);
}

TEST_CASE("a job that Slurm requeues continues its run although the file was edited, with a warning") {
  const Workspace w;
  w.write("small.toml", kSmall);
  REQUIRE(run_again(w).code == 0);
  w.write("small.toml", replaced(kSmall, "epochs      = 4", "epochs = 5"));
  const Outcome requeued = run_again(w, {}, {{"SLURM_RESTART_COUNT", "1"}});
  INFO(requeued.err);
  CHECK(requeued.code == 0);
  CHECK(contains(requeued.err, "warning: "));
  CHECK(contains(requeued.err, "epochs was 4, now 5"));
  CHECK(contains(requeued.err, "the run goes on as it is"));
}

TEST_CASE("run --run-id resumes a run whose values were resolved, and one whose data and file moved") {
  const ShapesWorkspace w;
  const std::string settings = replaced(replaced(text_of(w.folder() / "shapes.toml"), "shapes.csv", "data/shapes.csv"),
                                        "batch_size", "global_batch_size");
  w.write("a/data/shapes.csv", text_of(w.folder() / "shapes.csv"));
  w.write("a/shapes.toml", settings);
  const std::vector<std::string> rest{"--run-id", "one", "--set", "device_pool=2"};
  const auto run = [&](const std::string& file) {
    std::vector<std::string> arguments{"run", file};
    arguments.insert(arguments.end(), rest.begin(), rest.end());
    return w.run(arguments);
  };
  const Outcome first = run("a/shapes.toml");
  INFO(first.err);
  REQUIRE(first.code == 0);
  w.write("b/data/shapes.csv", text_of(w.folder() / "shapes.csv"));
  w.write("b/shapes.toml", settings);
  const Outcome second = run("b/shapes.toml");
  INFO(second.err);
  CHECK(second.code == 0);
  CHECK(contains(second.err, "nothing to do"));
  w.write("b/data/shapes.csv", replaced(text_of(w.folder() / "shapes.csv"), "flat", "tall"));
  const Outcome third = run("b/shapes.toml");
  INFO(third.err);
  CHECK(third.code == 2);
  CHECK(contains(third.err, "dataset.path was "));
}

TEST_CASE("sweep --run-id continues a sweep whose threads were resolved, also for one trial on other cores") {
  const Workspace w;
  const std::string file = replaced(kSmall, "threads     = 1\n", "");
  w.write("small.toml", file + "[sweep]\nparameters = { \"optimizer.lr\" = [0.01, 0.02] }\n");
  std::vector<std::string> words{"sweep", "small.toml", "--run-id", "one", "--set", "epochs=1"};
  REQUIRE(w.run(words).code == 0);
  CHECK(contains(text_of(w.results() / "small/one/sweep.toml"), "threads"));
  CHECK(w.run(words).code == 0);
  words.insert(words.end(), {"--trial", "1"});
  CHECK(w.run(words).code == 0);
}

TEST_CASE("sweep --run-id of an existing sweep refuses a file with other settings") {
  const Workspace w;
  const std::string sweep = kSmall + "[sweep]\nparameters = { \"optimizer.lr\" = [0.01, 0.02] }\n";
  w.write("small.toml", sweep);
  const std::vector<std::string> words{"sweep", "small.toml", "--run-id", "one", "--set", "epochs=1"};
  REQUIRE(w.run(words).code == 0);
  CHECK(w.run(words).code == 0);
  w.write("small.toml", replaced(sweep, "dropout = 0.25", "dropout = 0.5"));
  const Outcome other = w.run(words);
  INFO(other.err);
  CHECK(other.code == 2);
  CHECK(contains(other.err, "this sweep began with model.dropout = 0.25, not 0.5"));
  CHECK(contains(other.err, " resume results/small/one"));
}

}  // namespace ddp::system_test
