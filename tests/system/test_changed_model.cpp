// A model's .pt2 file that changed after the training: its graph may be another one, though names and shapes are the
// same.
#include <filesystem>

#include "catch.h"
#include "exported.h"

namespace ddp::system_test {
namespace fs = std::filesystem;
namespace {

// The same names and shapes with another dropout.
std::string other_graph() { return exported_model({{"\"as_float\": 0.25", "\"as_float\": 0.5"}}); }

// A workspace with a run "arrays" of two epochs, saved after each.
struct TrainedWorkspace : ExportedWorkspace {
  TrainedWorkspace() {
    const Outcome trained = run({"run", "arrays.toml", "--set", kExported, "--set", "validation={split=0.2}"});
    INFO(trained.err);
    REQUIRE(trained.code == 0);
  }

  void check_refused(std::vector<std::string> words, const std::string& file) const {
    const Outcome refused = run(words);
    INFO(words.front() << ": " << refused.err);
    CHECK(refused.code == 2);
    CHECK(contains(refused.err, file + ": has another content than when the checkpoint was trained"));
    CHECK(contains(
        refused.err,
        "put the former file back, or accept this one, if its weights have the same names and shapes: " DDP_EXP " " +
            words.front()));
    CHECK(contains(refused.err, " --data-changed\n"));
  }

  void check_done(const std::vector<std::string>& words) const {
    const Outcome done = run(words);
    INFO(words.front() << ": " << done.err);
    CHECK(done.code == 0);
  }
};

const std::vector<std::vector<std::string>> kUses = {{"resume", "arrays", "--set", "epochs=3"},
                                                     {"fork", "arrays", "--name", "forked", "--set", "epochs=5"},
                                                     {"eval", "arrays"},
                                                     {"predict", "arrays", "x.npy", "-o", "answers.csv"},
                                                     {"export", "arrays", "out.pt2"}};

std::vector<std::string> with(std::vector<std::string> words, const std::string& more) {
  words.push_back(more);
  return words;
}

}  // namespace

TEST_CASE("a .pt2 file that was exported again is refused by name, and --data-changed accepts it") {
  const TrainedWorkspace w;
  w.write("net.pt2", other_graph());
  for (const auto& words : kUses) w.check_refused(words, "net.pt2");
  CHECK_FALSE(fs::exists(w.results() / "forked"));
  CHECK_FALSE(fs::exists(w.folder() / "out.pt2"));
  // Weights alone need no graph.
  w.check_done({"export", "arrays", "out.safetensors"});
  w.check_done({"resume", "arrays"});  // it has ended: nothing to do
  for (const auto& words : kUses) w.check_done(with(words, "--data-changed"));
  // From now on the checkpoint has this file's content.
  w.check_done({"resume", "arrays", "--set", "epochs=4"});
  w.check_done({"eval", "arrays"});
}

TEST_CASE("a .pt2 file that moved is known by its content") {
  const TrainedWorkspace w;
  fs::rename(w.folder() / "net.pt2", w.folder() / "moved.pt2");
  const std::string set = "model.path=\"" + (w.folder() / "moved.pt2").string() + "\"";
  w.check_done({"eval", "arrays", "--set", set});
  w.check_done({"resume", "arrays", "--set", "epochs=3", "--set", set});
  w.write("moved.pt2", other_graph());
  w.check_refused({"eval", "arrays", "--set", set}, "moved.pt2");
  w.check_refused({"resume", "arrays", "--set", "epochs=4"}, "moved.pt2");
}

TEST_CASE("ranks are not started again on a .pt2 file that changed") {
  const ExportedWorkspace w;
  const auto process =
      w.start({"run", "arrays.toml", "--max-restarts", "3", "--set", kExported, "--set", "epochs=1000000"});
  const RunFolder run = w.running(*process, "arrays", 12);
  REQUIRE(process->wait_for_ranks(2));
  w.write("net.pt2", other_graph());
  kill(process->ranks().at(1), SIGKILL);
  const Outcome outcome = w.finish(*process);
  INFO(outcome.err);
  CHECK(outcome.code == 1);
  CHECK(contains(outcome.err, "net.pt2: has another content than when the checkpoint was trained"));
  CHECK(run.summary().at("status") == "failed");
}

}  // namespace ddp::system_test
