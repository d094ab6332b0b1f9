#include "arrays.h"
#include "catch.h"
#include "images.h"
#include "looking.h"
#include "tables.h"

// Models that do not take the samples of the data.
namespace ddp::system_test {
namespace {

const std::string kResnet = "model=\"resnet18\"";
const std::string kVit = "model={name=\"vit\", patch_size=4, num_layers=1, num_heads=1, hidden_dim=8, mlp_dim=8}";
const std::string kGpt = "model={name=\"gpt\", n_layer=1, n_head=1, n_embd=8}";
const std::string kMlp = "model={name=\"mlp\", hidden=[8]}";

std::string refused(const Workspace& w, const std::string& file, const std::vector<std::string>& sets) {
  std::vector<std::string> arguments{"plan", file};
  for (const std::string& set : sets) arguments.insert(arguments.end(), {"--set", set});
  const Outcome outcome = w.run(arguments);
  INFO(outcome.err);
  CHECK(outcome.code == 2);
  return outcome.err;
}

// An ArrayWorkspace with plain.toml, whose model takes all sizes from the data.
struct PlainWorkspace : ArrayWorkspace {
  PlainWorkspace() {
    write("plain.toml",
          "dataset = { name = \"npy\", inputs = \"x.npy\", targets = \"y.npy\" }\nloss = \"cross_entropy\"\n"
          "model = { name = \"mlp\", hidden = [8] }\ndevice_pool = [\"cpu\"]\nthreads = 1\n");
  }
};

// Returns the setting in an answer that begins with "model = ", up to the end of its line.
std::string proposed_model(const std::string& answer) {
  const std::size_t begin = answer.rfind("model = {");
  REQUIRE(begin != std::string::npos);
  return answer.substr(begin, answer.find('\n', begin) - begin);
}

}  // namespace

TEST_CASE("a model for rows on images is refused with both shapes and models that take the images") {
  const ImageWorkspace w;
  const std::string answer = refused(w, "images.toml", {kMlp});
  INFO(answer);
  CHECK(contains(answer,
                 "the model \"mlp\" takes rows of numbers, of the shape [in_features], and the dataset "
                 "\"image_folder\" gives samples of the shape [3, 12, 12]"));
  CHECK(contains(answer, "model = \"resnet18\""));
  const std::string model = proposed_model(answer);
  CHECK(contains(model, "in_features = 432, out_features = 3"));
  CHECK(w.run({"plan", "images.toml", "--set", model}).code == 0);
  CHECK(w.run({"plan", "images.toml", "--set", kResnet}).code == 0);
  CHECK(contains(refused(w, "images.toml", {"model={name=\"mlp\", in_features=432, hidden=[8]}"}),
                 "takes rows of numbers"));
  CHECK(contains(refused(w, "images.toml", {kGpt}), "takes tokens, whole numbers of the shape [block_size]"));
}

TEST_CASE("layers that do not take the samples are refused with the option that fits") {
  const ImageWorkspace w;
  const auto answer = [&](const std::string& layers) {
    return refused(w, "images.toml", {"model={name=\"sequential\", layers=[" + layers + "]}"});
  };
  CHECK(contains(answer("{type=\"Linear\", in_features=432, out_features=3}"),
                 "begin the layers with { type = \"Flatten\" }, and give the first Linear in_features = 432"));
  CHECK(contains(answer("{type=\"Flatten\"}, {type=\"Linear\", in_features=64, out_features=3}"),
                 "give the Linear that follows Flatten in_features = 432"));
  CHECK(contains(answer("{type=\"Conv2d\", in_channels=1, out_channels=3, kernel_size=12}, {type=\"Flatten\"}"),
                 "give the first Conv2d in_channels = 3"));
}

TEST_CASE("a model for images or texts on rows of numbers is refused with a model that takes them") {
  const ArrayWorkspace w;
  for (const std::string& set : {kResnet, kVit, kGpt,
                                 std::string("model={name=\"gpt\", n_layer=1, n_head=1, n_embd=8, block_size=4, "
                                             "vocab_size=5}"),
                                 std::string("model={name=\"resnet18\", num_classes=3}")}) {
    const std::string answer = refused(w, "arrays.toml", {set});
    INFO(answer);
    CHECK(contains(answer, ", and the dataset \"npy\" gives samples of the shape [4]"));
    CHECK(w.run({"plan", "arrays.toml", "--set", proposed_model(answer)}).code == 0);
  }
}

TEST_CASE("images of one channel are refused by resnets with a model that takes them") {
  const ArrayWorkspace w;
  w.write("x.npy", npy_of("<f4", "(100, 1, 2, 2)", ArrayData(100).x));
  for (const std::string& set : {kResnet, kMlp}) {
    const std::string answer = refused(w, "arrays.toml", {set});
    INFO(answer);
    CHECK(contains(answer, "[1, 2, 2]"));
    CHECK(contains(answer, "resnets and vit take three channels"));
    CHECK(w.run({"plan", "arrays.toml", "--set", proposed_model(answer)}).code == 0);
  }
}

TEST_CASE("a model for rows on a text is refused with gpt") {
  const Workspace w;
  std::string text;
  for (int i = 0; i < 40; ++i) text += "a line of text\n";
  w.write("a.txt", text);
  w.write("text.toml",
          "dataset = { name = \"text\", path = \"a.txt\", block_size = 8 }\nmodel = \"resnet18\"\n"
          "device_pool = [\"cpu\"]\nthreads = 1\n");
  for (const std::string& set : {kResnet, kMlp}) {
    const std::string answer = refused(w, "text.toml", {set});
    INFO(answer);
    CHECK(contains(answer, "gives whole numbers of the shape [8]"));
    CHECK(w.run({"plan", "text.toml", "--set", proposed_model(answer)}).code == 0);
  }
}

TEST_CASE("targets of one extent for a column of outputs are refused with the shape to give them") {
  const ArrayWorkspace w;
  w.write("y.npy", npy_of("<f4", "(100,)", std::vector<float>(100, 0.5f)));
  CHECK(contains(refused(w, "arrays.toml", {"loss=mse", "model.out_features=1"}),
                 "give the targets a last extent of 1, as y.reshape(-1, 1) in NumPy"));
}

TEST_CASE("targets without an extent, and class indices with one, are refused with the shape to give them") {
  const PlainWorkspace w;
  w.write("y.npy", npy_of("<f4", "(100,)", std::vector<float>(100, 0.5f)));
  const std::string answer = refused(w, "plain.toml", {"loss=mse"});
  INFO(answer);
  CHECK(contains(answer, "give targets of the shape [n, 1]: y.reshape(-1, 1) in NumPy"));
  CHECK(contains(answer, "for classes, give integers"));
  w.write("y.npy", npy_of("<i8", "(100, 1)", ArrayData(100).y));
  CHECK(contains(refused(w, "arrays.toml", {}), "y.reshape(-1) in NumPy removes it"));
}

TEST_CASE("images with their channels last are refused with the way to move them") {
  const ArrayWorkspace w;
  w.write("x.npy", npy_of("<f4", "(100, 2, 2, 3)", std::vector<float>(1200)));
  CHECK(contains(refused(w, "arrays.toml", {kResnet}), "move the channels first, as numpy.moveaxis(x, -1, 1) does"));
}

TEST_CASE("several inputs for a model that takes one are refused with both numbers") {
  const PlainWorkspace w;
  const std::string answer = refused(w, "plain.toml", {"dataset.inputs=[\"x.npy\", \"x.npy\"]"});
  CHECK(contains(answer, "the model \"mlp\" takes one input, and the dataset \"npy\" gives 2"));
}

TEST_CASE("eval on arrays of another shape is refused with the shape, the model and its size") {
  const ArrayWorkspace w;
  REQUIRE(w.run({"run", "arrays.toml"}).code == 0);
  w.write("narrow.npy", npy_of("<f4", "(100, 3)", std::vector<float>(300)));
  const Outcome eval = w.run({"eval", "arrays", "--set", "dataset.inputs=narrow.npy"});
  INFO(eval.err);
  CHECK(eval.code == 2);
  CHECK(contains(eval.err, "gives samples of shape [3], which the model \"mlp\" (in_features = 4) does not accept"));
  const Outcome none = w.run({"eval", "arrays"});
  CHECK(contains(none.err, "--set dataset.inputs=FILE --set dataset.targets=FILE"));
  CHECK(w.run({"eval", "arrays", "--set", "dataset.inputs=x.npy", "--set", "dataset.targets=y.npy"}).code == 0);
}

TEST_CASE("classes that count from 1, and a Normalize for pixels up to 255, are warnings") {
  const PlainWorkspace w;
  std::vector<std::int64_t> from_1 = ArrayData(100).y;
  for (std::int64_t& number : from_1) ++number;
  w.write("y.npy", npy_of("<i8", "(100,)", from_1));
  CHECK(contains(w.run({"plan", "plain.toml"}).err, "if the classes count from 1, subtract 1"));
  w.write("y.npy", ArrayData(100).y_npy());
  CHECK(w.run({"plan", "plain.toml"}).err.empty());
  const ImageWorkspace images;
  const auto normalised = [&](const std::string& mean) {
    return images.run({"plan", "images.toml", "--set",
                       "dataset.transforms=[{type=\"Normalize\", mean=[" + mean + "], std=[1.0, 1.0, 1.0]}]"});
  };
  CHECK(contains(normalised("127.0, 127.0, 127.0").err, "divide mean and std by 255"));
  CHECK(normalised("0.5, 0.5, 0.5").err.empty());
}

TEST_CASE("a wrong size of a later layer is answered with that layer and the size that it gets") {
  const ImageWorkspace w;
  const auto answer = [&](const std::string& layers) {
    return refused(w, "images.toml", {"model={name=\"sequential\", layers=[" + layers + "]}"});
  };
  const std::string conv = "{type=\"Conv2d\", in_channels=3, out_channels=8, kernel_size=3}, ";
  CHECK(contains(answer(conv + "{type=\"Flatten\"}, {type=\"Linear\", in_features=700, out_features=3}"),
                 "give layers[2] in_features = 800"));
  CHECK(contains(answer(conv + "{type=\"Conv2d\", in_channels=4, out_channels=8, kernel_size=3}, {type=\"Flatten\"}"),
                 "give layers[1] in_channels = 8"));
}

TEST_CASE("a layer that does not take its input is shown in the file with the size that it gets") {
  const ImageWorkspace w;
  const auto answer = [&](const std::string& layers) {
    w.write("layers.toml",
            "dataset = { name = \"image_folder\", path = \"images\" }\nloss = \"cross_entropy\"\n"
            "device_pool = [\"cpu\"]\n[model]\nname = \"sequential\"\nlayers = [\n"
            "  { type = \"Conv2d\", in_channels = 3, out_channels = 8, kernel_size = 3 },\n"
            "  { type = \"MaxPool2d\", kernel_size = 2 },\n" +
                layers + "]\n");
    return refused(w, "layers.toml", {});
  };
  const std::string flatten = "  { type = \"Flatten\" },\n";
  const std::string linear = "  { type = \"Linear\", in_features = 100, out_features = 50 },\n";
  // Two layers have the wrong size; the first one fails.
  const std::string twice = answer(flatten + linear + linear);
  INFO(twice);
  CHECK(contains(twice, "layers.toml:10:36: "));
  CHECK(contains(twice, "  10 |   { type = \"Linear\", in_features = 100, out_features = 50 },"));
  CHECK(contains(twice, "give layers[3] in_features = 200"));
  const std::string images = answer(linear);
  INFO(images);
  CHECK(contains(images, "layers.toml:9:36: "));
  CHECK(contains(images, "put { type = \"Flatten\" } before layers[2], and give it in_features = 200"));
  const std::string fitting = answer("  { type = \"Linear\", in_features = 200, out_features = 3 },\n");
  CHECK(fitting.ends_with("put { type = \"Flatten\" } before layers[2]\n"));
  CHECK(contains(answer("  { type = \"BatchNorm2d\", num_features = 3 },\n" + flatten), "layers.toml:9:12: "));
}

}  // namespace ddp::system_test
