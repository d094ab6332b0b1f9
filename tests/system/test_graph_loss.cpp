// Losses that a graph from Python computes.
#include <filesystem>

#include <nlohmann/json.hpp>

#include "catch.h"
#include "exported.h"
#include "run_folder.h"
#include "struck.h"

namespace ddp::system_test {
namespace {

// The model computes its loss from x and y, three numbers a row.
struct LossWorkspace : ExportedWorkspace {
  LossWorkspace() {
    std::vector<float> numbers;
    for (int i = 0; i < 300; ++i) numbers.push_back(static_cast<float>(i % 7) / 7);
    write("y.npy", npy_of("<f4", "(100, 3)", numbers));
    write("net.pt2", exported_model(computing_loss()));
  }
};

const Words kSets{kExported, "loss=\"model\"", "validation.split=0.2"};

}  // namespace

TEST_CASE("a run on a model that computes its loss is killed inside an epoch and resumed with the same bits") {
  const LossWorkspace w;
  const auto [killed, whole] = kill_and_resume(w, "arrays", kSets);
  const auto of_epoch = [](const RunFolder& run) {
    const Json event = run.events("epoch").at(1);
    return std::pair(event.at("train_level"), event.at("val_level"));
  };
  CHECK(of_epoch(killed) == of_epoch(whole));
}

TEST_CASE("the scalars beside a loss are in the events of steps, epochs, validations and in eval") {
  const LossWorkspace w;
  const RunFolder run = w.done(with_sets({"run", "arrays.toml"}, kSets)).run;
  const Json step = run.events("step").at(0);
  CHECK(step.at("level").is_number());
  const Json epoch = run.events("epoch").back();
  CHECK(epoch.at("train_level").is_number());
  const Outcome measured = w.done({"eval", "arrays", "--json"});
  CHECK(Json::parse(measured.out).at("metrics").at("val_level") == epoch.at("val_level"));
}

TEST_CASE("a scalar beside the loss cannot have the name of a value that each step records") {
  const LossWorkspace w;
  w.write("net.pt2", exported_model(computing_loss("logits", "lr")));
  w.refused(with_sets({"run", "arrays.toml"}, kSets), {"the scalar \"lr\" of the loss has the name of a value"});
  w.write("net.pt2", exported_model(computing_loss("logits", "a b")));
  w.refused(with_sets({"run", "arrays.toml"}, kSets), {"the scalar \"a b\" of the loss cannot be recorded"});
}

TEST_CASE("a model that computes its loss predicts with logits, or the first output with dimensions") {
  const LossWorkspace w;
  w.done(with_sets({"run", "arrays.toml"}, kSets));
  const std::string answers = w.done({"predict", "arrays", "x.npy"}).out;
  CHECK(answers.starts_with("prediction_y_0,prediction_y_1,prediction_y_2\n"));
  w.write("net.pt2", exported_model(computing_loss("scores")));
  w.done(with_sets({"run", "arrays.toml", "--name", "second"}, kSets));
  CHECK(w.done({"predict", "second", "x.npy"}).out.starts_with("prediction_y_0"));
}

TEST_CASE("a model that gives nothing but its loss names the option for predictions") {
  const LossWorkspace w;
  std::vector<Edit> edits = computing_loss();
  // The loss and the mean alone: without the output in their middle.
  std::string& outputs = edits[2].second;
  const std::string loss = outputs.substr(0, outputs.find(", "));
  edits[2].second = loss;
  edits[3] = {};
  w.write("net.pt2", exported_model(edits));
  w.done(with_sets({"run", "arrays.toml"}, kSets));
  w.refused({"predict", "arrays", "x.npy"}, {"gives no output without its targets", "[model] predict"});
}

TEST_CASE("metrics with a loss of a graph need logits and one target") {
  const LossWorkspace w;
  w.write("net.pt2", exported_model(computing_loss("scores")));
  w.refused(with_sets({"run", "arrays.toml", "--set", "metrics=[\"mae\"]"}, kSets), {"metrics", "\"logits\""});
}

TEST_CASE("a dict without loss, and one without logits, are refused where they are needed") {
  const LossWorkspace w;
  w.write("net.pt2", exported_model(computing_loss("scores")));
  w.refused({"plan", "arrays.toml", "--set", kExported, "--set", "loss=\"mse\""},
            {"returns a dict without \"logits\"; it has: loss, scores, level", "loss = \"model\""});
  std::vector<Edit> edits = computing_loss();
  std::string& keys = edits[3].second;
  keys.replace(keys.find("loss"), 4, "cost");
  w.write("net.pt2", exported_model(edits));
  w.refused(with_sets({"plan", "arrays.toml"}, kSets), {"without \"loss\"; it has: cost, logits, level"});
}

TEST_CASE("an exported loss trains as the named one", "[slow]") {
  const ExportedWorkspace w;
  w.write("net.loss.pt2", exported_loss());
  const Words sets{"loss={name=\"exported\", path=\"net.loss.pt2\"}"};
  const RunFolder named = w.done({"run", "arrays.toml", "--name", "named"}).run;
  const RunFolder run = w.done(with_sets({"run", "arrays.toml"}, sets)).run;
  CHECK(run.training() == named.training());
  CHECK(run.model() == named.model());
  kill_and_resume(w, "arrays", sets);
}

TEST_CASE("a loss that is one number a batch takes no weights of samples") {
  const LossWorkspace w;
  w.write("w.npy", npy_of("<f4", "(100,)", std::vector<float>(100, 1)));
  w.refused(with_sets({"run", "arrays.toml", "--set", "dataset.weights=\"w.npy\""}, kSets),
            {"dataset.weights", "the loss is one number a batch", "give the weights as a target"});
}

TEST_CASE("a named loss needs targets, and validate says so") {
  const LossWorkspace w;
  w.write("none.toml", "dataset = { name = \"npy\", inputs = \"x.npy\" }\n" + kArrays);
  w.refused({"validate", "none.toml"}, {"\"dataset.targets\" is missing", "the loss \"cross_entropy\" compares"});
}

}  // namespace ddp::system_test
