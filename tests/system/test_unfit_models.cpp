#include "arrays.h"
#include "catch.h"
#include "images.h"
#include "looking.h"
#include "tables.h"

// Models that do not take the samples of the data.
namespace ddp::system_test {
namespace {

std::string refused(const Workspace& w, const std::string& file, const std::vector<std::string>& sets) {
  std::vector<std::string> arguments{"plan", file};
  for (const std::string& set : sets) arguments.insert(arguments.end(), {"--set", set});
  const Outcome outcome = w.run(arguments);
  INFO(outcome.err);
  CHECK(outcome.code == 2);
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
  CHECK(contains(refused(w, "arrays.toml", {"loss=mse", "model.out_features=1"}), "[2, 1]"));
  w.write("y.npy", npy_of("<i8", "(100, 1)", ArrayData(100).y));
  refused(w, "arrays.toml", {});
}

TEST_CASE("eval on arrays of another shape is refused with the shape and the model") {
  const ArrayWorkspace w;
  REQUIRE(w.run({"run", "arrays.toml"}).code == 0);
  w.write("narrow.npy", npy_of("<f4", "(100, 3)", std::vector<float>(300)));
  const Outcome eval = w.run({"eval", "arrays", "--set", "dataset.inputs=narrow.npy"});
  INFO(eval.err);
  CHECK(eval.code == 2);
  CHECK(contains(eval.err, "gives samples of shape [3], which the model \"mlp\" does not accept"));
  CHECK(w.run({"eval", "arrays", "--set", "dataset.inputs=x.npy", "--set", "dataset.targets=y.npy"}).code == 0);
}

}  // namespace ddp::system_test
