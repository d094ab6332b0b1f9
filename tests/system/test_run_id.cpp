#include "catch.h"
#include "finished_run.h"
#include "tables.h"

namespace ddp::system_test {
namespace {

const Words kRunOne{"run", "small.toml", "--run-id", "one"};

std::string replaced(std::string text, const std::string& from, const std::string& to) {
  return text.replace(text.find(from), from.size(), to);
}

}  // namespace

TEST_CASE("run --run-id of an existing run refuses a file with other settings, and names the ways to go on") {
  const Workspace w("small.toml", kSmall);
  w.done(kRunOne);
  w.write("small.toml", replaced(replaced(kSmall, "lr = 0.01", "lr = 0.02"), "epochs      = 4", "epochs = 5"));
  w.refused(kRunOne, {"this run has other settings than small.toml:\n", "  optimizer.lr was 0.01, now 0.02\n",
                      "  epochs was 4, now 5\n", " resume results/small/one`"});
  const RunFolder run(w.results() / "small/one");
  CHECK(run.has_each_step_once(28));
  w.done({"resume", "results/small/one", "--set", "optimizer.lr=0.02", "--set", "epochs=5"});
  CHECK(run.has_each_step_once(35));
  // The run has these settings now.
  w.done(kRunOne);
}

TEST_CASE("a job that Slurm requeues continues its run although the file was edited, with a warning") {
  const Workspace w("small.toml", kSmall);
  w.done(kRunOne);
  w.write("small.toml", replaced(kSmall, "epochs      = 4", "epochs = 5"));
  w.ends(0, kRunOne, {"warning: ", "epochs was 4, now 5", "the run goes on as it is"}, {{"SLURM_RESTART_COUNT", "1"}});
}

TEST_CASE("run --run-id resumes a run whose values were resolved, and one whose data and file moved") {
  const ShapesWorkspace w;
  const std::string settings = replaced(replaced(text_of(w.folder() / "shapes.toml"), "shapes.csv", "data/shapes.csv"),
                                        "batch_size", "global_batch_size");
  w.write("a/data/shapes.csv", text_of(w.folder() / "shapes.csv"));
  w.write("a/shapes.toml", settings);
  w.done({"run", "a/shapes.toml", "--run-id", "one", "--set", "device_pool=2"});
  w.write("b/data/shapes.csv", text_of(w.folder() / "shapes.csv"));
  w.write("b/shapes.toml", settings);
  w.ends(0, {"run", "b/shapes.toml", "--run-id", "one", "--set", "device_pool=2"}, {"nothing to do"});
  w.write("b/data/shapes.csv", replaced(text_of(w.folder() / "shapes.csv"), "flat", "tall"));
  w.refused({"run", "b/shapes.toml", "--run-id", "one", "--set", "device_pool=2"}, {"dataset.path was "});
}

TEST_CASE("sweep --run-id continues a sweep whose threads were resolved, also for one trial on other cores") {
  const Workspace w;
  const std::string file = replaced(kSmall, "threads     = 1\n", "");
  w.write("small.toml", file + "[sweep]\nparameters = { \"optimizer.lr\" = [0.01, 0.02] }\n");
  Words words{"sweep", "small.toml", "--run-id", "one", "--set", "epochs=1"};
  w.done(words);
  CHECK(contains(text_of(w.results() / "small/one/sweep.toml"), "threads"));
  w.done(words);
  words.insert(words.end(), {"--trial", "1"});
  w.done(words);
}

TEST_CASE("sweep --run-id of an existing sweep refuses a file with other settings") {
  const Workspace w;
  const std::string sweep = kSmall + "[sweep]\nparameters = { \"optimizer.lr\" = [0.01, 0.02] }\n";
  w.write("small.toml", sweep);
  const Words words{"sweep", "small.toml", "--run-id", "one", "--set", "epochs=1"};
  w.done(words);
  w.done(words);
  w.write("small.toml", replaced(sweep, "dropout = 0.25", "dropout = 0.5"));
  w.refused(words, {"this sweep began with model.dropout = 0.25, not 0.5", " resume results/small/one"});
}

}  // namespace ddp::system_test
