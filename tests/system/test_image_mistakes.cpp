#include <filesystem>

#include "catch.h"
#include "images.h"
#include "predicting.h"

// Images of another size than in training, and folders above the folders of classes.
namespace ddp::system_test {
namespace fs = std::filesystem;
namespace {

// Trains a model that takes images of 12 x 12 pixels only.
void train_on_small_images(const Workspace& w, const std::string& transforms) {
  trained_images(w, {"epochs=1", "dataset.transforms=[" + transforms + "]"});
}

// Returns the argument of the first --set '…' in the text.
std::string proposed_setting(const std::string& text) {
  const std::string option = "--set '";
  const std::size_t begin = text.find(option) + option.size();
  REQUIRE(begin > option.size());
  return text.substr(begin, text.find('\'', begin) - begin);
}

// 60 images in data/train/ and data/val/, a folder for each class, and images.toml, which names the folder above both.
struct SetsWorkspace : ImageWorkspace {
  SetsWorkspace() {
    fs::create_directory(folder() / "data");
    fs::rename(folder() / "images", folder() / "data/train");
    for (int number = 0; number < 3; ++number) write_image("data/val", number, 0, class_png(number, 90));
    write("images.toml", of_folder("data"));
  }

  static std::string of_folder(const std::string& path) {
    std::string text = ImageWorkspace::text("");
    return text.replace(text.find("\"images\""), std::string("\"images\"").size(), "\"" + path + "\"");
  }
  std::string place(const std::string& folders) const { return (folder() / folders).string(); }
};

}  // namespace

TEST_CASE("an image of another size than in training is refused with both sizes and the transform that resizes it") {
  const ImageWorkspace w;
  train_on_small_images(w, "");
  w.write("large.png", png_file(24, 20, 3, noise(24 * 20 * 3, 1)));
  check_predict_fails(w, 2, {"images", "large.png"},
                      {"[3, 20, 24]",
                       "the run trained with images of [height, width] = [12, 12]: resize the others with --set "
                       "'dataset.transforms=[{type=\"Resize\",size=[12, 12]}]'"});
  // A setting for the prediction is not a size of the training.
  check_predict_fails(w, 2, {"images", "large.png", "--set", "dataset.transforms=[{type=\"Resize\",size=[9,9]}]"},
                      {"images of [height, width] = [12, 12]: "});
  CHECK(w.run({"predict", "images", "large.png", "--set",
               proposed_setting(w.run({"predict", "images", "large.png"}).err)})
            .code == 0);
  // Images of several sizes are resized alike.
  const std::vector<std::string> both{"images", "images/dark/00.png", "large.png"};
  check_predict_fails(w, 2, both, {"the images of a batch need the same shape\n  the run trained with images of"});
  std::vector<std::string> resized{"predict", "images", "images/dark/00.png", "large.png", "--set"};
  resized.push_back(proposed_setting(w.run({"predict", "images", "images/dark/00.png", "large.png"}).err));
  CHECK(w.run(resized).code == 0);
  fs::rename(w.folder() / "images", w.folder() / "moved");
  check_predict_fails(w, 2, {"images", "large.png"},
                      {"give images of the size of the training", "{type=\"Resize\",size=[HEIGHT,WIDTH]}"});
}

TEST_CASE("the transform that resizes an image stands before the transforms of the training") {
  const ImageWorkspace w;
  train_on_small_images(w, "{type=\"Normalize\", mean=[0.5,0.5,0.5], std=[0.25,0.25,0.25]}");
  w.write("large.png", png_file(24, 20, 3, noise(24 * 20 * 3, 1)));
  const std::string setting = proposed_setting(w.run({"predict", "images", "large.png"}).err);
  INFO(setting);
  CHECK(setting.starts_with("dataset.transforms=[{type=\"Resize\",size=[12, 12]}, {"));
  CHECK(contains(setting, "\"Normalize\""));
  CHECK(w.run({"predict", "images", "large.png", "--set", setting}).code == 0);
}

TEST_CASE("folders of sets in the place of classes are a warning") {
  const SetsWorkspace w;
  const std::string training = "dataset.path=" + w.place("data/train");
  const std::string validation = "validation.dataset.path=" + w.place("data/val");
  for (const char* const verb : {"validate", "plan", "run"}) {
    const Outcome answer = w.run({verb, "images.toml"});
    INFO(verb << "\n" << answer.err);
    CHECK(answer.code == 0);
    CHECK(contains(answer.err, "warning: "));
    CHECK(contains(answer.err, "\"dataset.path\" is " + w.place("data") +
                                   ", whose folders are the classes: \"train\", "
                                   "\"val\""));
  }
  const Outcome run = w.run({"run", "images.toml", "--set", training, "--set", validation});
  INFO(run.err);
  CHECK(run.code == 0);
  CHECK_FALSE(contains(run.err, "warning"));
  CHECK(run.run.summary().at("final").contains("val_loss"));
}

TEST_CASE("validation or test images of another size are refused before the training, with the transform to paste") {
  const ImageWorkspace w;
  for (int number = 0; number < 3; ++number) {
    w.write_image("large", number, 0, png_file(24, 20, 3, noise(24 * 20 * 3, static_cast<std::uint32_t>(number))));
  }
  for (const std::string role : {"validation", "test"}) {
    std::vector<std::string> arguments{"plan",  "images.toml",
                                       "--set", role + ".dataset={path=\"large\"}",
                                       "--set", "dataset.transforms=[{type=\"RandomHorizontalFlip\"}]"};
    const Outcome refused = w.run(arguments);
    INFO(refused.err);
    CHECK(refused.code == 2);
    CHECK(contains(refused.err, "--set 1: the " + role + " sample of "));
    CHECK(contains(refused.err, "large/dark/00.png has the shape [3, 20, 24], and the training samples have [3, 12"));
    arguments.insert(arguments.end(), {"--set", proposed_setting(refused.err)});
    CHECK(w.run(arguments).code == 0);
    arguments.front() = "run";
    CHECK(w.run(arguments).code == 0);
  }
}

TEST_CASE("validation images of another size are answered with a transform also if the file has no transforms") {
  const ImageWorkspace w;
  for (int number = 0; number < 3; ++number) {
    w.write_image("large", number, 0, png_file(24, 20, 3, noise(24 * 20 * 3, static_cast<std::uint32_t>(number))));
  }
  std::string text = ImageWorkspace::text("");
  const std::string none = ", transforms = []";
  w.write("images.toml", text.erase(text.find(none), none.size()));
  std::vector<std::string> arguments{"plan", "images.toml", "--set", "validation.dataset.path=large"};
  const Outcome refused = w.run(arguments);
  INFO(refused.err);
  CHECK(refused.code == 2);
  arguments.insert(arguments.end(), {"--set", proposed_setting(refused.err)});
  CHECK(w.run(arguments).code == 0);
}

TEST_CASE("the transform that resizes validation images stands before the floats of a list of their own") {
  const ImageWorkspace w;
  for (int number = 0; number < 3; ++number) {
    w.write_image("large", number, 0, png_file(24, 20, 3, noise(24 * 20 * 3, static_cast<std::uint32_t>(number))));
  }
  std::vector<std::string> arguments{
      "plan", "images.toml", "--set",
      "validation.dataset={path=\"large\", transforms=[{type=\"Grayscale\", "
      "num_output_channels=3}, {type=\"Normalize\", mean=[0.5,0.5,0.5], std=[0.5,0.5,0.5]}]}"};
  const std::string refused = w.run(arguments).err;
  INFO(refused);
  const std::string setting = proposed_setting(refused);
  CHECK(setting.starts_with("validation.dataset.transforms=[{"));
  CHECK(setting.find("Grayscale") < setting.find("Resize"));
  REQUIRE(setting.find("Resize") != std::string::npos);
  CHECK(setting.find("Resize") < setting.find("Normalize"));
  arguments.insert(arguments.end(), {"--set", setting});
  const Outcome outcome = w.run(arguments);
  INFO(outcome.err);
  CHECK(outcome.code == 0);
}

TEST_CASE("validation images of another size are no mistake if the model takes both") {
  const ImageWorkspace w;
  w.write_image("large", 0, 0, png_file(24, 20, 3, noise(24 * 20 * 3, 1)));
  w.write_image("large", 1, 0, png_file(24, 20, 3, noise(24 * 20 * 3, 2)));
  w.write_image("large", 2, 0, png_file(24, 20, 3, noise(24 * 20 * 3, 3)));
  CHECK(w.run({"plan", "images.toml", "--set", "validation.dataset={path=\"large\"}", "--set", "model=\"resnet18\"",
               "--set", "dataset.transforms=[]"})
            .code == 0);
}

TEST_CASE("eval proposes the transform that resizes images of another size") {
  const ImageWorkspace w;
  train_on_small_images(w, "");
  for (int number = 0; number < 3; ++number) {
    w.write_image("large", number, 0, png_file(24, 20, 3, noise(24 * 20 * 3, static_cast<std::uint32_t>(number))));
  }
  std::vector<std::string> arguments{"eval", "images", "--set", "dataset.path=large"};
  const Outcome refused = w.run(arguments);
  INFO(refused.err);
  CHECK(refused.code == 2);
  CHECK(contains(refused.err, "the run trained with images of [height, width] = [12, 12]: resize the others with"));
  arguments.insert(arguments.end(), {"--set", proposed_setting(refused.err)});
  CHECK(w.run(arguments).code == 0);
}

}  // namespace ddp::system_test
