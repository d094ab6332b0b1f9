#include <cstdint>
#include <string>

#include "catch.h"
#include "images.h"

namespace ddp::system_test {

TEST_CASE("a file that does not decode ends the run with its name") {
  const ImageWorkspace w;
  w.write_image("images", 2, 17, class_png(2, 17).substr(0, 200));
  w.ends(1, {"run", "images.toml"}, {"images/noisy/17.png"});
}

TEST_CASE("files that do not decode are left out, counted and listed, also by a resumed run") {
  const ImageWorkspace w;
  w.write_image("images", 2, 17, class_png(2, 17).substr(0, 200));
  w.write_image("images", 0, 5, "not an image");
  std::string models;
  for (const char* workers : {"0", "1", "3"}) {
    const Outcome outcome = trained_images(w, {"dataset.on_bad=\"skip\"", std::string("loader.workers=") + workers});
    CHECK(contains(outcome.err, "2 images do not decode and were left out: "));
    CHECK(contains(outcome.err, "images/dark/05.png"));
    const std::string listed = text_of(outcome.run.path() / "bad_files.txt");
    const std::string folder = (w.folder() / "images").string();
    CHECK(listed == folder + "/dark/05.png\n" + folder + "/noisy/17.png\n");
    std::int64_t samples = 0;
    for (const Json& step : outcome.run.events("step")) samples += step.at("samples").get<std::int64_t>();
    CHECK(samples == 2 * 58);
    if (models.empty()) models = outcome.run.model();
    CHECK(outcome.run.model() == models);
  }
  w.done({"resume", "images", "--set", "epochs=3"}, {"2 images do not decode"});
}

TEST_CASE("a run that met a damaged file inside an epoch goes on with on_bad, to the bits of a run that had it") {
  const ImageWorkspace w;
  w.write_image("images", 2, 17, class_png(2, 17).substr(0, 200));
  const std::string skip = "dataset.on_bad=skip";
  const std::string every = "checkpoint.save_every_steps=1";
  const std::string whole = trained_images(w, {skip, every}).run.model();
  const Outcome failed = w.ends(1, {"run", "images.toml", "--set", every});
  REQUIRE(contains(failed.err, "last saved after step"));
  REQUIRE(contains(failed.err, "--set " + skip));
  const Outcome resumed =
      w.done({"resume", "images", "--set", skip}, {"changed: dataset.on_bad was \"error\", now \"skip\""});
  CHECK_FALSE(contains(resumed.err, "measured on other data"));
  CHECK(resumed.run.model() == whole);
}

TEST_CASE("a batch in which no image decodes is an error") {
  const ImageWorkspace w;
  for (int number = 0; number < 3; ++number) {
    for (int image = 2; image < kImagesOfClass; ++image) w.write_image("images", number, image, "not an image");
  }
  w.ends(1, {"run", "images.toml", "--set", "dataset.on_bad=\"skip\""}, {"like every other image of its batch of 4"});
}

TEST_CASE("the very first images may fail to decode") {
  const ImageWorkspace w;
  w.write_image("images", 0, 0, "not an image");
  w.write_image("images", 0, 1, "not an image");
  const std::string skip = "dataset.on_bad=\"skip\"";
  w.done({"plan", "images.toml", "--set", skip});
  w.done({"run", "images.toml", "--set", skip}, {"2 images do not decode and were left out: "});
}

TEST_CASE("a measured batch in which no image decodes counts nothing, and eval warns of it") {
  const ImageWorkspace w;
  for (int number = 0; number < 2; ++number) {
    for (int image = 0; image < 2; ++image) w.write_image("held", number, image, class_png(number, 100 + image));
  }
  const Words run{
      "run", "images.toml", "--set", "dataset.on_bad=\"skip\"", "--set", "validation.dataset={path=\"held\"}"};
  const Outcome whole = w.done(run);
  w.write_image("held", 2, 0, "not an image");
  const Outcome outcome = w.done(run, {"1 image does not decode and was left out: "});
  CHECK(outcome.run.summary().at("final") == whole.run.summary().at("final"));
  const Outcome eval = w.done({"eval", "images", "--json"}, {"1 image does not decode and was left out: "});
  CHECK(contains(eval.out, whole.run.summary().at("final").at("val_loss").dump()));
  CHECK(w.run({"eval", "images", "--json", "--set", "dataset.on_bad=skip"}).out == eval.out);
}

TEST_CASE("predict leaves out an image that does not decode if it may, names it, and writes the other rows") {
  const ImageWorkspace w;
  w.done({"run", "images.toml"});
  for (int image = 0; image < 5; ++image) w.write_image("new", 0, image, class_png(0, image));
  w.write_image("new", 0, 0, "not an image");
  w.write_image("new", 0, 3, "not an image");
  const std::string folder = (w.folder() / "new").string();
  w.refused({"predict", "images", folder, "--output", "p.csv"}, {"dataset.on_bad=skip"});
  w.done({"predict", "images", folder, "--output", "p.csv", "--set", "dataset.on_bad=skip"},
         {" does not decode: left out"});
  const std::string text = text_of(w.folder() / "p.csv");
  CHECK(std::count(text.begin(), text.end(), '\n') == 1 + 3);
}

TEST_CASE("an image that does not decode is refused with on_bad, and a format that is not read with PNG") {
  const ImageWorkspace w;
  w.write_image("images", 0, 0, "");
  const Outcome empty = w.run({"run", "images.toml", "--set", "device_pool=[\"cpu\"]"});
  INFO(empty.err);
  CHECK(empty.code != 0);
  CHECK(contains(empty.err, "replace the file, "));
  CHECK(contains(empty.err, "or leave such files out: --set dataset.on_bad=skip"));
  for (int number = 0; number < 3; ++number) {
    for (int image = 0; image < kImagesOfClass; ++image) w.write_image("images", number, image, "BM not read");
  }
  CHECK(contains(w.run({"run", "images.toml"}).err, "convert it to PNG if it is an image"));
  CHECK(contains(w.run({"run", "images.toml", "--set", "dataset.on_bad=\"skip\""}).err, "convert the images to PNG"));
}

}  // namespace ddp::system_test
