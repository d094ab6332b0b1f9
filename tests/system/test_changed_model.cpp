// A model's .pt2 file that changed after the training: its graph may be another one, though names and shapes are the
// same.
#include <filesystem>
#include <string>
#include <utility>
#include <vector>

#include "catch.h"
#include "exported.h"

namespace ddp::system_test {
namespace fs = std::filesystem;
namespace {

// The same names and shapes with another dropout.
std::string other_graph() { return exported_model({{"\"as_float\": 0.25", "\"as_float\": 0.5"}}); }

// A workspace with a run "arrays" of two epochs, saved after each.
struct TrainedWorkspace : ExportedWorkspace {
  TrainedWorkspace() { done({"run", "arrays.toml", "--set", kExported, "--set", "validation={split=0.2}"}); }

  void check_refused(Words words, const std::string& file) const {
    refused(words, {file + ": has another content than when the checkpoint was trained", "--data-changed\n"});
  }

  // The weights differ: to accept the file does not help. The answer names the first difference, `what`.
  void check_misfit(const Words& words, const std::string& what) const {
    const Outcome refused = Workspace::refused(
        words, {"net.pt2: has another content than when the checkpoint was trained, and the weights of the "
                "checkpoint do not fit it:\n",
                what + "\n"});
    CHECK_FALSE(contains(refused.err, "--data-changed"));
  }
};

const std::vector<Words> kUses = {{"resume", "arrays", "--set", "epochs=3"},
                                  {"fork", "arrays", "--name", "forked", "--set", "epochs=5"},
                                  {"eval", "arrays"},
                                  {"predict", "arrays", "x.npy", "-o", "answers.csv"},
                                  {"export", "arrays", "out.pt2"}};

// The bias under another name.
std::string other_names() { return exported_model({{"\"fc.bias\"", "\"fc.other\""}, {"\"fc.bias\"", "\"fc.other\""}}); }

// Two classes in place of three.
std::string other_shapes() {
  return exported_model({{"{\"as_int\": 3}, {\"as_int\": 4}", "{\"as_int\": 2}, {\"as_int\": 4}"},
                         {"\"sizes\": [{\"as_int\": 3}]", "\"sizes\": [{\"as_int\": 2}]"}});
}

// A weight more, which forward does not use.
std::string more_weights() {
  return exported_model(
      {{R"({"user_input")", R"({"parameter": {"arg": {"name": "p_more"}, "parameter_name": "more"}}, {"user_input")"},
       {R"("fc.bias": {)",
        R"("more": {"path_name": "weight_1", "use_pickle": false, "tensor_meta": {"dtype": 7, "sizes": [{"as_int": 2}],
           "requires_grad": true, "strides": [{"as_int": 1}], "storage_offset": {"as_int": 0}, "layout": 7}},
           "fc.bias": {)"}});
}

}  // namespace

TEST_CASE("a .pt2 file that was exported again is refused by name, and --data-changed accepts it", "[slow]") {
  const TrainedWorkspace w;
  w.write("net.pt2", other_graph());
  for (const auto& words : kUses) w.check_refused(words, "net.pt2");
  CHECK_FALSE(fs::exists(w.results() / "forked"));
  CHECK_FALSE(fs::exists(w.folder() / "out.pt2"));
  // Weights alone need no graph.
  w.done({"export", "arrays", "out.safetensors"});
  w.done({"resume", "arrays"});  // it has ended: nothing to do
  for (const auto& words : kUses) w.done(joined(words, {"--data-changed"}));
  // From now on the checkpoint has this file's content.
  w.done({"resume", "arrays", "--set", "epochs=4"});
  w.done({"eval", "arrays"});
}

TEST_CASE("a .pt2 file with other weights is refused with the first difference, whether or not it is accepted",
          "[slow]") {
  const TrainedWorkspace w;
  const std::vector<std::pair<std::string, std::string>> changes{
      {other_shapes(), "\"fc.bias\" is Float[3], in the model Float[2]"},
      {more_weights(), "lacks \"more\", in the model Float[2]"},
      {other_names(), "has \"fc.bias\", Float[3], which the model does not have"}};
  for (const auto& [file, what] : changes) {
    w.write("net.pt2", file);
    for (const auto& words : kUses) {
      w.check_misfit(words, what);
      w.check_misfit(joined(words, {"--data-changed"}), what);
    }
  }
  CHECK_FALSE(fs::exists(w.results() / "forked"));
  CHECK_FALSE(fs::exists(w.folder() / "out.pt2"));
  w.done({"export", "arrays", "out.safetensors"});
}

TEST_CASE("a .pt2 file that is damaged after the training has to be put back") {
  const TrainedWorkspace w;
  w.write("net.pt2", exported_model().substr(0, 1000));
  for (const auto& words : kUses) {
    w.refused(words, {"net.pt2: is not a zip archive, or cut off\n"});
  }
}

TEST_CASE("a .pt2 file that moved is known by its content") {
  const TrainedWorkspace w;
  fs::rename(w.folder() / "net.pt2", w.folder() / "moved.pt2");
  const std::string set = "model.path=\"" + (w.folder() / "moved.pt2").string() + "\"";
  w.done({"eval", "arrays", "--set", set});
  w.done({"resume", "arrays", "--set", "epochs=3", "--set", set});
  w.write("moved.pt2", other_graph());
  w.check_refused({"eval", "arrays", "--set", set}, "moved.pt2");
  w.check_refused({"resume", "arrays", "--set", "epochs=4"}, "moved.pt2");
}

TEST_CASE("a sweep whose .pt2 file has other weights is refused, whether or not it is accepted") {
  const ExportedWorkspace w;
  const auto process = w.start({"sweep", "arrays.toml", "--jobs", "1", "--run-id", "one", "--set", kExported, "--set",
                                "sweep={parameters={\"optimizer.lr\"=[0.01,0.001]}}", "--set", "epochs=1000000"});
  const RunFolder trial(w.results() / "arrays/one/trials/000");
  REQUIRE(wait_until([&] { return trial.last_step() > 12; }, process->pid()));
  process->signal(SIGINT);
  REQUIRE(process->wait() == 130);
  w.write("net.pt2", other_names());
  for (const Words& more : std::vector<Words>{{}, {"--data-changed"}}) {
    const Words words = joined({"resume", "arrays/one"}, more);
    w.refused(words, {"has \"fc.bias\", Float[3], which the model does not have\n"});
  }
}

TEST_CASE("ranks are not started again on a .pt2 file that changed") {
  const ExportedWorkspace w;
  const auto process =
      w.start({"run", "arrays.toml", "--max-restarts", "3", "--set", kExported, "--set", "epochs=1000000"});
  const RunFolder run = w.running(*process, "arrays", 12);
  REQUIRE(process->wait_for_ranks(2));
  w.write("net.pt2", other_graph());
  kill(process->ranks().at(1), SIGKILL);
  w.ends(1, *process, {"net.pt2: has another content than when the checkpoint was trained"});
  CHECK(run.summary().at("status") == "failed");
}

}  // namespace ddp::system_test
