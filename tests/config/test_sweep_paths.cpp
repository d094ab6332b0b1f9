#include "catch.h"
#include "config/sweep.h"
#include "installed.h"
#include "scratch.h"

// Paths in sweep.toml, which lies in another folder than the sweep's file.
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
    for (const std::size_t n : {0, 1}) CHECK(options_of(second, n) == options_of(first, n));
  }

  const Scratch scratch;
  LoadedSweep first;
  LoadedSweep second;
};

}  // namespace

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
