#include "arrays.h"
#include "catch.h"
#include "images.h"
#include "looking.h"

// Models that do not take the samples of the data: refused before anything starts.
namespace ddp::system_test {
namespace {

const std::string kResnet = "model=\"resnet18\"";
const std::string kGpt = "model={name=\"gpt\", n_layer=1, n_head=1, n_embd=8}";
const std::string kMlp = "model={name=\"mlp\", hidden=[8]}";

std::string refused(const Workspace& w, const std::string& file, const std::vector<std::string>& sets) {
  std::vector<std::string> arguments{"plan", file};
  for (const std::string& set : sets) arguments.insert(arguments.end(), {"--set", set});
  const Outcome outcome = w.run(arguments);
  INFO(sets.front() << "\n" << outcome.err);
  CHECK(outcome.code == 2);
  CHECK_FALSE(outcome.err.empty());
  CHECK(outcome.out.empty());
  return outcome.err;
}

std::string layers(const std::string& list) { return "model={name=\"sequential\", layers=[" + list + "]}"; }

}  // namespace

TEST_CASE("a model that does not take images is refused with the shape of the images") {
  const ImageWorkspace w;
  CHECK(contains(refused(w, "images.toml", {kMlp}), "[3, 12, 12]"));
  refused(w, "images.toml", {kGpt});
  refused(w, "images.toml", {layers("{type=\"Linear\", in_features=432, out_features=3}")});
  refused(w, "images.toml", {layers("{type=\"Flatten\"}, {type=\"Linear\", in_features=64, out_features=3}")});
  CHECK(w.run({"plan", "images.toml", "--set", kResnet}).code == 0);
  CHECK(w.run({"plan", "images.toml", "--set",
               layers("{type=\"Flatten\"}, {type=\"Linear\", in_features=432, out_features=3}")})
            .code == 0);
}

TEST_CASE("a model that does not take rows of numbers or texts is refused") {
  const ArrayWorkspace w;
  for (const std::string& set : {kResnet, kGpt, std::string("model={name=\"resnet18\", num_classes=3}")}) {
    refused(w, "arrays.toml", {set});
  }
  w.write("x.npy", npy_of("<f4", "(100, 1, 2, 2)", ArrayData(100).x));
  CHECK(contains(refused(w, "arrays.toml", {kResnet}), "[1, 2, 2]"));
  std::string text;
  for (int i = 0; i < 40; ++i) text += "a line of text\n";
  w.write("a.txt", text);
  w.write("text.toml",
          "dataset = { name = \"text\", path = \"a.txt\", block_size = 8 }\nmodel = \"resnet18\"\n"
          "device_pool = [\"cpu\"]\nthreads = 1\n");
  for (const std::string& set : {kResnet, kMlp}) CHECK(contains(refused(w, "text.toml", {set}), "[8]"));
  CHECK(w.run({"plan", "text.toml", "--set", kGpt}).code == 0);
}

TEST_CASE("targets that the loss does not take beside the outputs are refused") {
  const ArrayWorkspace w;
  w.write("y.npy", npy_of("<f4", "(100,)", std::vector<float>(100, 0.5f)));
  refused(w, "arrays.toml", {"loss=mse", "model.out_features=1"});
  w.write("y.npy", npy_of("<i8", "(100, 1)", ArrayData(100).y));
  refused(w, "arrays.toml", {"seed=1"});
}

TEST_CASE("eval on arrays of another shape is refused with the shape") {
  const ArrayWorkspace w;
  REQUIRE(w.run({"run", "arrays.toml"}).code == 0);
  w.write("narrow.npy", npy_of("<f4", "(100, 3)", std::vector<float>(300)));
  const Outcome eval = w.run({"eval", "arrays", "--set", "dataset.inputs=narrow.npy"});
  INFO(eval.err);
  CHECK(eval.code == 2);
  CHECK(contains(eval.err, "[3]"));
  CHECK(w.run({"eval", "arrays"}).code == 2);
  CHECK(w.run({"eval", "arrays", "--set", "dataset.inputs=x.npy", "--set", "dataset.targets=y.npy"}).code == 0);
}

}  // namespace ddp::system_test
