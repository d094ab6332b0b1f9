// The graphs of a run's model and loss: it keeps copies, and the user's .pt2 files may change or go.
#include <algorithm>
#include <csignal>
#include <filesystem>
#include <string>
#include <vector>

#include <nlohmann/json.hpp>

#include "catch.h"
#include "exported.h"
#include "run_folder.h"

namespace ddp::system_test {
namespace fs = std::filesystem;
namespace {

std::string evaluating_model() { return exported_model({{"\"as_bool\": true", "\"as_bool\": false"}}); }

// The same names and shapes with another dropout.
std::string other_graph() { return exported_model({{"\"as_float\": 0.25", "\"as_float\": 0.5"}}); }

// A model or a loss of Python, in one of the forms that a run may have.
struct Form {
  const char* name;
  Words sets;
  Words files;                // of the run's folder "model"
  bool exports_model = true;  // as a .pt2 file
};

const std::vector<Form> kForms{
    {"a named loss", {kExported}, {"model.pt2", "origins.json"}},
    {"a graph for evaluation",
     {R"(model={name="exported",path="net.pt2",eval="net.eval.pt2"})"},
     {"eval.pt2", "model.pt2", "origins.json"}},
    {"the model's own loss",
     {R"(model={name="exported",path="loss_in.pt2"})", "loss=\"model\"", "dataset.targets=\"t.npy\""},
     {"model.pt2", "origins.json"}},
    {"the model's own loss, and a graph for predictions",
     {R"(model={name="exported",path="loss_in.pt2",predict="net.eval.pt2"})", "loss=\"model\"",
      "dataset.targets=\"t.npy\""},
     {"model.pt2", "origins.json", "predict.pt2"}},
    {"an exported loss",
     {kExported, R"(loss={name="exported",path="net.loss.pt2",eval="net.loss.eval.pt2"})"},
     {"loss.eval.pt2", "loss.pt2", "model.pt2", "origins.json"}},
    {"an exported loss of a model of C++",
     {R"(loss={name="exported",path="net.loss.pt2"})"},
     {"loss.pt2", "origins.json"},
     /*exports_model=*/false}};

struct GraphWorkspace : ExportedWorkspace {
  GraphWorkspace() {
    std::vector<float> numbers;
    for (int i = 0; i < 300; ++i) numbers.push_back(static_cast<float>(i % 7) / 7);
    write("t.npy", npy_of("<f4", "(100, 3)", numbers));
    write("loss_in.pt2", exported_model(computing_loss()));
    write("net.eval.pt2", evaluating_model());
    for (const char* name : {"net.loss.pt2", "net.loss.eval.pt2"}) write(name, exported_loss());
  }

  void remove_graphs() const {
    for (const char* name : {"net.pt2", "loss_in.pt2", "net.eval.pt2", "net.loss.pt2", "net.loss.eval.pt2"})
      fs::remove(folder() / name);
  }
  // Other graphs of the same weights, and a damaged file.
  void change_graphs() const {
    write("net.pt2", other_graph());
    write("loss_in.pt2", exported_model(computing_loss("scores", "other")));
    write("net.eval.pt2", "damaged");
    for (const char* name : {"net.loss.pt2", "net.loss.eval.pt2"})
      write(name, exported_loss("torch.ops.aten.multi_margin_loss.default"));
  }

  RunFolder train(const std::string& name, const Form& form) const {
    return done(with_sets({"run", "arrays.toml", "--name", name, "--set", "validation.split=0.2"}, form.sets)).run;
  }

  // The results of all commands that use a run's checkpoint.
  Words uses_of(const std::string& name, const Form& form) const {
    Words results;
    results.push_back(Json::parse(done({"eval", name, "--json"}).out).at("metrics").dump());
    results.push_back(done({"predict", name, "x.npy"}).out);
    for (const Words& more : std::vector<Words>{{}, {"--eval"}}) {
      if (!form.exports_model) continue;
      done(joined({"export", name, "out.pt2"}, more));
      results.push_back(text_of(folder() / "out.pt2"));
    }
    for (const Words& words :
         std::vector<Words>{{"fork", name, "--name", name + "-fork", "--set", "epochs=3"},
                            {"fork", name + "-fork", "--name", name + "-again", "--set", "epochs=4"},
                            {"resume", name, "--set", "epochs=4"}}) {
      const RunFolder run = done(words).run;
      results.insert(results.end(), {run.training(), run.model(), run.optimizer()});
    }
    return results;
  }
};

std::vector<std::string> files_in(const fs::path& folder) {
  std::vector<std::string> names;
  for (const auto& entry : fs::directory_iterator(folder)) names.push_back(entry.path().filename().string());
  std::sort(names.begin(), names.end());
  return names;
}

}  // namespace

TEST_CASE("a run uses its own copies of its graphs when the files have changed or gone: the same bits", "[slow]") {
  for (const Form& form : kForms) {
    INFO(form.name);
    const GraphWorkspace w;
    const RunFolder run = w.train("intact", form);
    w.train("changed", form);
    w.train("gone", form);
    CHECK(files_in(run.path() / "model") == form.files);
    const Words intact = w.uses_of("intact", form);
    w.change_graphs();
    CHECK(w.uses_of("changed", form) == intact);
    w.remove_graphs();
    CHECK(w.uses_of("gone", form) == intact);
  }
}

TEST_CASE("a run that is killed and whose graphs have gone resumes with the same bits", "[slow]") {
  for (const Form& form : kForms) {
    INFO(form.name);
    const GraphWorkspace w;
    w.train("whole", form);
    const auto process = w.start(
        with_sets({"run", "arrays.toml", "--name", "killed", "--set", "epochs=100000", "--set", "validation.split=0.2"},
                  form.sets));
    const RunFolder killed = w.running(*process, "killed", 30);
    w.remove_graphs();
    process->kill();
    const std::int64_t steps_an_epoch = killed.events("epoch").at(0).at("step");
    const std::string epochs = "epochs=" + std::to_string(killed.last_step() / steps_an_epoch + 2);
    w.done({"resume", "killed", "--set", epochs});
    const RunFolder whole = w.done({"resume", "whole", "--set", epochs}).run;
    check_same(killed, whole);
    CHECK(killed.optimizer() == whole.optimizer());
  }
}

TEST_CASE("runs share the first weights of their model and reproduce without its file") {
  const ExportedWorkspace w;
  const RunFolder run = w.done({"run", "arrays.toml", "--name", "a", "--set", kExported}).run;
  w.done({"run", "arrays.toml", "--name", "b", "--set", kExported});
  CHECK(fs::hard_link_count(run.path() / "model/model.pt2") == 3);
  w.write("net.pt2", other_graph());
  w.done({"reproduce", "a"});
  fs::remove(w.folder() / "net.pt2");
  w.done({"reproduce", "a"});
  w.done({"rm", "a", "--yes"});
  w.done({"reproduce", "b"});
  CHECK(fs::exists(w.results() / ".graphs"));
  w.done({"rm", "--where", "epochs > 0", "--yes"});
  CHECK_FALSE(fs::exists(w.results() / ".graphs"));
}

constexpr const char* kWithoutWeights = "checkpoint.initial_weights=false";

TEST_CASE("a run's copy of a model may have no weights, which a checkpoint has") {
  const ExportedWorkspace w;
  const RunFolder run = w.done({"run", "arrays.toml", "--set", kExported, "--set", kWithoutWeights}).run;
  const fs::path copy = run.path() / "model/model.pt2";
  const std::string first_weights = bytes_of_numbers(std::vector<float>{.1F, -.2F, .3F, .4F, -.5F, .6F});
  CHECK(contains(text_of(w.folder() / "net.pt2"), first_weights));
  CHECK_FALSE(contains(text_of(copy), first_weights));
  CHECK(contains(text_of(copy), kGraph));
  const std::string set = "model={name=\"exported\", path=\"" + copy.string() + "\"}";
  for (const char* verb : {"validate", "plan", "run"}) {
    w.refused({verb, "arrays.toml", "--set", set}, {"is a run's copy of a model's graph, without its weights"});
  }
  // Its settings name the user's file: a new run with them begins with the weights there.
  CHECK(w.done({"run", (run.path() / "config.toml").string()}).run.training() == run.training());
}

TEST_CASE("a run without a checkpoint starts over with the user's file, and says so if it has gone") {
  const ExportedWorkspace w;
  const auto process = w.start({"run", "arrays.toml", "--set", kExported, "--set", "epochs=100000", "--set",
                                "checkpoint.save_every_steps=100000000", "--set", kWithoutWeights});
  w.running(*process, "arrays", 8);
  process->kill();
  fs::rename(w.folder() / "net.pt2", w.folder() / "moved.pt2");
  w.refused({"resume", "arrays", "--set", "epochs=2"}, {"there is no such file: ", "net.pt2", "--set model.path=PATH"});
  const RunFolder run = w.done({"resume", "arrays", "--set", "epochs=2", "--set", "model.path=\"moved.pt2\""}).run;
  fs::remove(w.folder() / "moved.pt2");
  w.done({"resume", "arrays", "--set", "epochs=3"});
  CHECK(run.has_each_step_once(39));
}

TEST_CASE("a setting of this command names another graph for the weights of a checkpoint") {
  const GraphWorkspace w;
  w.train("arrays", kForms.at(0));
  w.change_graphs();
  // The same name, and another one.
  const std::string forked = w.done({"fork", "arrays", "--name", "f", "--set", "epochs=3"}).run.training();
  w.write("other.pt2", other_graph());
  for (const char* set : {R"(model.path="net.pt2")", R"(model.path="other.pt2")", R"(model={path="net.pt2"})"}) {
    INFO(set);
    const std::string name = "f" + std::to_string(files_in(w.results()).size());
    const RunFolder fork = w.done({"fork", "arrays", "--name", name, "--set", "epochs=3", "--set", set}).run;
    CHECK(fork.training() != forked);
    CHECK(contains(text_of(fork.path() / "model/model.pt2"), "\"as_float\": 0.5"));
  }
  w.done({"resume", "arrays", "--set", "epochs=3", "--set", R"(model.path="other.pt2")"});
  w.remove_graphs();
  fs::remove(w.folder() / "other.pt2");
  const RunFolder run = w.done({"resume", "arrays", "--set", "epochs=4"}).run;
  CHECK(contains(text_of(run.path() / "model/model.pt2"), "\"as_float\": 0.5"));
  w.write("net.pt2", exported_model({{"\"fc.bias\"", "\"fc.other\""}, {"\"fc.bias\"", "\"fc.other\""}}));
  for (const Words& words : std::vector<Words>{{"fork", "arrays", "--name", "misfit", "--set", "epochs=9"},
                                               {"resume", "arrays", "--set", "epochs=9"},
                                               {"eval", "arrays"}}) {
    const Outcome refused = w.run(joined(words, {"--set", R"(model.path="net.pt2")"}));
    CHECK(refused.code != 0);
    CHECK(contains(refused.err, "has \"fc.bias\", Float[3], which the model does not have"));
  }
  CHECK_FALSE(fs::exists(w.results() / "misfit"));
}

TEST_CASE("ranks that start again after a failure use the run's copies") {
  const GraphWorkspace w;
  const Form& form = kForms.at(4);
  const Words sets{"epochs=150", "checkpoint.save_every_steps=20"};
  const RunFolder whole = w.done(with_sets(with_sets({"run", "arrays.toml", "--name", "whole"}, form.sets), sets)).run;
  const auto process = w.start(with_sets(with_sets({"run", "arrays.toml", "--max-restarts", "3"}, form.sets), sets));
  const RunFolder run = w.running(*process, "arrays", 40);
  REQUIRE(wait_until([&] { return fs::exists(run.path() / "checkpoints/latest"); }, process->pid()));
  REQUIRE(process->wait_for_ranks(2));
  w.change_graphs();
  kill(process->ranks().at(1), SIGKILL);
  w.ends(0, *process);
  CHECK(run.events("restart").size() == 1);
  check_same(run, whole);
}

TEST_CASE("ranks start again from nothing with the graphs that the run began with, or not at all") {
  for (const bool keeps : {true, false}) {
    INFO(keeps);
    const GraphWorkspace w;
    Words sets{"epochs=3000", "checkpoint.save_every_steps=1000000"};
    const Words words{"run", "arrays.toml", "--max-restarts", "3"};
    const Form& form = kForms.at(4);
    const RunFolder whole =
        w.done(with_sets(with_sets({"run", "arrays.toml", "--name", "whole"}, form.sets), sets)).run;
    if (!keeps) sets.push_back(kWithoutWeights);
    const auto process = w.start(with_sets(with_sets(words, form.sets), sets));
    const RunFolder run = w.running(*process, "arrays", 40);
    REQUIRE(process->wait_for_ranks(2));
    w.change_graphs();
    kill(process->ranks().at(1), SIGKILL);
    if (keeps) {
      w.ends(0, *process);
      check_same(run, whole);
    } else {
      w.ends(1, *process, {"has changed since the run began, which has not saved yet"});
    }
  }
}

TEST_CASE("a trial that resumes uses its own copies") {
  const ExportedWorkspace w;
  const auto process = w.start({"sweep", "arrays.toml", "--jobs", "1", "--run-id", "one", "--set", kExported, "--set",
                                "sweep={parameters={\"optimizer.lr\"=[0.01]}}", "--set", "epochs=200"});
  const RunFolder trial(w.results() / "arrays/one/trials/000");
  REQUIRE(wait_until([&] { return trial.last_step() > 12; }, process->pid()));
  process->signal(SIGINT);
  REQUIRE(process->wait() == 130);
  w.write("net.pt2", other_graph());
  w.done({"resume", "arrays/one"});
  w.write("net.pt2", exported_model());
  const RunFolder whole = w.done({"run", "arrays.toml", "--name", "whole", "--set", kExported, "--set",
                                  "optimizer.lr=0.01", "--set", "epochs=200"})
                              .run;
  CHECK(trial.training() == whole.training());
}

}  // namespace ddp::system_test
