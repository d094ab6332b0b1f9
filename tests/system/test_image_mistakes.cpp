#include <filesystem>

#include "catch.h"
#include "images.h"
#include "predicting.h"

// Images of another size than in training, and folders above the folders of classes.
namespace ddp::system_test {
namespace {

void write_large_images(const ImageWorkspace& w) {
  for (int number = 0; number < 3; ++number) {
    w.write_image("large", number, 0, png_file(24, 20, 3, noise(24 * 20 * 3, static_cast<std::uint32_t>(number))));
  }
}

}  // namespace

TEST_CASE("an image of another size than in training is refused by its name, and with a Resize it is predicted") {
  const ImageWorkspace w;
  trained_images(w, {"epochs=1", "dataset.transforms=[]"});
  w.write("large.png", png_file(24, 20, 3, noise(24 * 20 * 3, 1)));
  check_predict_fails(w, 2, {"images", "large.png"}, {"[3, 20, 24]"});
  check_predict_fails(w, 2, {"images", "images/dark/00.png", "large.png"}, {"need the same shape"});
  const std::string resized = "dataset.transforms=[{type=\"Resize\",size=[12, 12]}]";
  w.done({"predict", "images", "images/dark/00.png", "large.png", "--set", resized});
  write_large_images(w);
  w.refused({"eval", "images", "--set", "dataset.path=large"}, {});
  w.done({"eval", "images", "--set", "dataset.path=large", "--set", resized});
}

TEST_CASE("validation or test images of another size are refused before the training") {
  const ImageWorkspace w;
  write_large_images(w);
  for (const std::string role : {"validation", "test"}) {
    w.refused({"plan", "images.toml", "--set", role + ".dataset={path=\"large\"}", "--set", "dataset.transforms=[]"},
              {"large/dark/00.png: ", "[3, 20, 24]"});
  }
}

TEST_CASE("validation images of another size are no mistake if the model takes both") {
  const ImageWorkspace w;
  write_large_images(w);
  w.done({"plan", "images.toml", "--set", "validation.dataset={path=\"large\"}", "--set", "model=\"resnet18\"", "--set",
          "dataset.transforms=[]"});
}

TEST_CASE("folders of sets in the place of classes are a warning") {
  namespace fs = std::filesystem;
  const ImageWorkspace w;
  fs::create_directory(w.folder() / "data");
  fs::rename(w.folder() / "images", w.folder() / "data/train");
  for (int number = 0; number < 3; ++number) w.write_image("data/val", number, 0, class_png(number, 90));
  const std::string training = "dataset.path=" + (w.folder() / "data/train").string();
  const std::string validation = "validation.dataset.path=" + (w.folder() / "data/val").string();
  w.done({"plan", "images.toml", "--set", "dataset.path=data"}, {"whose folders are the classes: \"train\", \"val\""});
  const Outcome run = w.done({"run", "images.toml", "--set", training, "--set", validation});
  CHECK_FALSE(contains(run.err, "warning"));
  CHECK(run.run.summary().at("final").contains("val_loss"));
}

}  // namespace ddp::system_test
