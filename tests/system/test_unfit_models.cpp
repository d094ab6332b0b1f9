#include "arrays.h"
#include "catch.h"
#include "images.h"
#include "looking.h"
#include "tables.h"

// Models that do not take the samples of the data.
namespace ddp::system_test {
namespace {

std::string refused(const Workspace& w, const std::string& file, const Words& sets) {
  const Words arguments = with_sets({"plan", file}, sets);
  const Outcome outcome = w.refused(arguments, {});
  return outcome.err;
}

const std::string kMlpOf432 = "model={name=\"mlp\", in_features=432, hidden=[8]}";

}  // namespace

TEST_CASE("a model that does not take the samples is refused with their shape and LibTorch's reason") {
  const ImageWorkspace images;
  CHECK(contains(refused(images, "images.toml", {kMlpOf432}), "of shape [3, 12, 12]: layer 0, Linear"));
  CHECK(contains(refused(images, "images.toml",
                         {"model={name=\"sequential\", layers=[{type=\"Flatten\"}, {type=\"Linear\", in_features=64, "
                          "out_features=3}]}"}),
                 "layer 1, Linear, does not accept shape [2, 432]"));
  CHECK(contains(refused(images, "images.toml", {"model={name=\"mlp\", hidden=[8]}"}), "does not determine it"));
  const ArrayWorkspace arrays;
  for (const std::string model : {"resnet18", "gpt"}) refused(arrays, "arrays.toml", {"model=\"" + model + "\""});
}

TEST_CASE("targets whose shape does not fit the outputs are refused with both shapes") {
  const ArrayWorkspace w;
  w.write("y.npy", npy_of("<f4", "(100,)", std::vector<float>(100, 0.5f)));
  CHECK(contains(refused(w, "arrays.toml", {"loss=mse", "model.out_features=3"}), "[2, 3]"));
  w.write("y.npy", npy_of("<i8", "(100, 1)", ArrayData(100).y));
  refused(w, "arrays.toml", {});
}

TEST_CASE("eval on arrays of another shape is refused with the shape and the model") {
  const ArrayWorkspace w;
  w.done({"run", "arrays.toml"});
  w.write("narrow.npy", npy_of("<f4", "(100, 3)", std::vector<float>(300)));
  const Outcome eval = w.refused({"eval", "arrays", "--set", "dataset.inputs=narrow.npy"},
                                 {"gives samples of shape [3], which the model \"mlp\" does not accept"});
  w.done({"eval", "arrays", "--set", "dataset.inputs=x.npy", "--set", "dataset.targets=y.npy"});
}

}  // namespace ddp::system_test
