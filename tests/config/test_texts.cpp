#include "catch.h"
#include "config/load/sweep.h"
#include "errors.h"
#include "installed.h"
#include "scratch.h"

// Texts of the command line, and paths in sweep.toml, which lies in another folder than the sweep's file.
namespace ddp::config {
namespace {

const std::string kTraining =
    "model = { name = \"mlp\", in_features = 4, hidden = [8], out_features = 3 }\nloss = \"cross_entropy\"\n"
    "optimizer = { name = \"sgd\", lr = 0.1 }\nbatch_size = 4\n";

// The sweep of x.toml, and the sweep that its sweep.toml in another folder describes.
struct TwoSweeps {
  explicit TwoSweeps(const std::string& text) {
    scratch.write("x.toml", kTraining + text);
    first = load_sweep("x.toml", {}, real_components());
    std::filesystem::create_directory("other");
    scratch.write("other/sweep.toml", first.to_toml());
    second = load_sweep("other/sweep.toml", {}, real_components());
  }
  // The dataset's options in the trial with the n-th value of the one parameter.
  static Value options_of(const LoadedSweep& sweep, std::size_t n) {
    return sweep.trial({sweep.sweep.parameters[0].choices.at(n)}).experiment.dataset.options;
  }
  void check_same_options() const {
    for (const std::size_t n : {0, 1}) {
      CHECK(options_of(second, n) == options_of(first, n));
      // A resumed sweep compares the values in its journal, which the first sweep wrote, with the values of sweep.toml.
      const auto values = [n](const LoadedSweep& sweep) {
        return sweep.sweep.named({sweep.sweep.parameters[0].choices.at(n)});
      };
      CHECK(values(second) == values(first));
    }
  }

  const Scratch scratch;
  LoadedSweep first;
  LoadedSweep second;
};

}  // namespace

TEST_CASE("a text of the command line stays as it was typed, also if TOML takes it for another value") {
  const Scratch scratch;
  const std::string data = "dataset = { name = \"csv\", path = \"d.csv\", target = \"y\" }\n";
  scratch.write("x.toml", kTraining + data);
  for (const char* typed : {"1e5", "1.50", "007", "5", "0x1F", "1_000", "1.", "true", "inf", "2026-01-01",
                            "2026-01-01 07:30:00", "07:30"}) {
    INFO(typed);
    const std::string value = std::string("=") + typed;
    const Experiment e = load("x.toml", {"dataset.target" + value, "init_from" + value}, real_components()).experiment;
    CHECK(e.dataset.options.at("target") == typed);
    CHECK(e.init_from.path == typed);
  }
  CHECK(load("x.toml", {"name=1e5", "epochs=3"}, real_components()).experiment.name == "1e5");
  CHECK(load("x.toml", {"dataset.features=[5, 1.50]"}, real_components()).experiment.dataset.options.at("features") ==
        Value{"5", "1.50"});
  CHECK(contains(error_of([] { load("x.toml", {"name=+5"}, real_components()); }), "cannot be the name"));
  CHECK(contains(error_of([] { load("x.toml", {"device_pool=1.5"}, real_components()); }), "not 1.5"));
  scratch.write("x.toml", "name = 5\n" + kTraining + data);
  CHECK(contains(error_of([] { load("x.toml", {}, real_components()); }), "x.toml:1:8: \"name\" must be a text"));
}

TEST_CASE("texts that --set varies in a sweep stay as they were typed, in sweep.toml too") {
  const Scratch scratch;
  scratch.write("x.toml", kTraining + "dataset = { name = \"csv\", path = \"d.csv\", target = \"y\" }\n");
  const LoadedSweep sweep =
      load_sweep("x.toml", {"name=1e5", "dataset.path=1e-5", "sweep.parameters={\"dataset.target\"=[1.50, 2]}"},
                 real_components());
  scratch.write("sweep.toml", sweep.to_toml());
  const LoadedSweep again = load_sweep("sweep.toml", {}, real_components());
  for (const LoadedSweep* one : {&sweep, &again}) {
    CHECK(one->name == "1e5");
    const Value options = TwoSweeps::options_of(*one, 0);
    CHECK(options.at("target") == "1.50");
    CHECK(options.at("path") == (scratch.folder() / "1e-5").string());
  }
}

TEST_CASE("names of arrays stay names in sweep.toml") {
  const TwoSweeps sweeps(
      "dataset = { name = \"npz\", path = \"d.npz\", inputs = \"x\", targets = \"y\" }\n"
      "[sweep.parameters]\n\"dataset.inputs\" = [\"x\", \"z\"]\n");
  sweeps.check_same_options();
  CHECK(TwoSweeps::options_of(sweeps.second, 1).at("inputs") == "z");
  CHECK(TwoSweeps::options_of(sweeps.second, 1).at("targets") == "y");
}

TEST_CASE("files of arrays become absolute paths in sweep.toml") {
  const TwoSweeps sweeps(
      "dataset = { name = \"npy\", inputs = \"x.npy\", targets = \"y.npy\" }\n"
      "[sweep.parameters]\n\"dataset.inputs\" = [\"x.npy\", \"z.npy\"]\n");
  sweeps.check_same_options();
  for (const char* option : {"inputs", "targets"}) {
    CHECK(std::filesystem::path(TwoSweeps::options_of(sweeps.second, 1).at(option).get<std::string>()).is_absolute());
  }
}

TEST_CASE("a dataset that varies keeps its own paths in sweep.toml") {
  const TwoSweeps sweeps(
      "[sweep.parameters]\ndataset = [{ name = \"npz\", path = \"d.npz\", inputs = \"x\", targets = \"y\" }, "
      "{ name = \"npz\", path = [\"e.npz\", \"f.npz\"], inputs = \"x\", targets = \"z\" }]\n");
  sweeps.check_same_options();
  CHECK(TwoSweeps::options_of(sweeps.second, 1).at("inputs") == "x");
}

}  // namespace ddp::config
