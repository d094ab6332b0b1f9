#include <algorithm>
#include <cmath>
#include <filesystem>
#include <set>

#include "catch.h"
#include "images.h"
#include "predicting.h"

namespace ddp::system_test {
namespace fs = std::filesystem;
namespace {

std::vector<double> losses_of(const RunFolder& run) {
  std::vector<double> losses;
  for (const Json& step : run.events("step")) losses.push_back(step.at("loss"));
  return losses;
}

// Sums over other batches differ in the last bits; other pixels differ in the first digits.
bool are_close(const std::vector<double>& a, const std::vector<double>& b) {
  return a.size() == b.size() && std::equal(a.begin(), a.end(), b.begin(),
                                            [](double x, double y) { return std::abs(x - y) < 1e-5 * std::abs(x); });
}

// Requires exit code 2, these words, and no run.
void check_images_refused(const Workspace& w, const Words& sets, const Words& words) {
  const Words arguments = with_sets({"run", "images.toml"}, sets);
  const Outcome outcome = w.refused(arguments, {});
  CHECK_FALSE(fs::exists(w.results()));
  for (const auto& word : words) CHECK(contains(outcome.err, word));
}

std::int64_t resident_kib(pid_t pid) {
  const std::string status = text_of("/proc/" + std::to_string(pid) + "/status");
  const auto line = status.find("VmRSS:");
  return line == std::string::npos ? 0 : std::stoll(status.substr(line + 6));
}

}  // namespace

TEST_CASE("augmented images train to the same bits with any number of workers") {
  const ImageWorkspace w;
  const RunFolder none = trained_images(w, {"loader.workers=0", "validation.split=0.2"}).run;
  for (const char* workers : {"1", "2", "4"}) {
    const RunFolder run = trained_images(w, {std::string("loader.workers=") + workers, "validation.split=0.2"}).run;
    check_same(run, none);
    CHECK(run.summary().at("final") == none.summary().at("final"));
  }
}

TEST_CASE("augmented images are the same on any number of ranks") {
  const ImageWorkspace w;
  w.write("images.toml", [] {
    std::string text = ImageWorkspace::text(R"({ type = "RandomCrop", size = 12, padding = 2 })");
    return text.replace(text.find("batch_size = 4"), 14, "global_batch_size = 12");
  }());
  const auto of = [&](const std::string& pool) { return losses_of(trained_images(w, {"device_pool=" + pool}).run); };
  const auto one = of(R"(["cpu"])");
  CHECK(one.size() == 10);
  CHECK(are_close(one, of(R"(["cpu", "cpu"])")));
  CHECK(are_close(one, of(R"(["cpu", "cpu", "cpu"])")));
}

TEST_CASE("a run on images that is killed inside an epoch resumes with the same pixels on another number of ranks") {
  const ImageWorkspace w;
  std::string text = ImageWorkspace::text(R"({ type = "RandomCrop", size = 12, padding = 2 })");
  text.replace(text.find("batch_size = 4"), 14, "global_batch_size = 12");
  text.replace(text.find("epochs = 2"), 10, "epochs = 400");
  w.write("images.toml", "checkpoint = { save_every_steps = 3 }\n" + text);
  const auto process = w.start({"run", "images.toml"});
  const RunFolder run = w.running(*process, "images", 8);
  process->kill();
  const std::int64_t epochs = run.last_step() / 5 + 3;
  const std::string end = "epochs=" + std::to_string(epochs);
  w.done({"resume", "images", "--set", "device_pool=[\"cpu\", \"cpu\", \"cpu\"]", "--set", end});
  const RunFolder whole = trained_images(w, {"device_pool=[\"cpu\"]", end, "name=\"whole\""}).run;
  CHECK(run.has_each_step_once(5 * epochs));
  CHECK(are_close(losses_of(run), losses_of(whole)));
}

TEST_CASE("held-out samples are not augmented, from a split or from their own data") {
  const ImageWorkspace w;
  // A learning rate of 0: each epoch measures the same weights on the same samples.
  const RunFolder run =
      trained_images(w, {"validation.split=0.2", "optimizer.lr=1e-30", "epochs=3", "loader.shuffle=false"}).run;
  std::set<std::string> losses;
  std::vector<double> trained;
  for (const Json& epoch : run.events("epoch")) {
    losses.insert(epoch.at("val_loss").dump());
    trained.push_back(epoch.at("train_loss"));
  }
  CHECK(losses.size() == 1);
  REQUIRE(trained.size() == 3);
  // Only other pixels change the loss by more than rounding.
  CHECK(std::abs(trained[0] - trained[1]) > 1e-4);
  CHECK(std::abs(trained[1] - trained[2]) > 1e-4);
}

TEST_CASE("validation on its own folder derives its transforms or has its own") {
  const ImageWorkspace w;
  for (int number = 0; number < 3; ++number) {
    for (int image = 0; image < 4; ++image) w.write_image("other", number, image, class_png(number, 100 + image));
  }
  const std::string other = "validation.dataset={path=\"other\"}";
  const auto val_loss = [&](const std::string& dataset) {
    return trained_images(w, {dataset, "epochs=1"}).run.summary().at("final").at("val_loss").get<double>();
  };
  const double derived = val_loss(other);
  // RandomCrop becomes CenterCrop without its padding; the flip is left out.
  CHECK(derived == val_loss(R"(validation.dataset={path="other", transforms=[{type="CenterCrop", size=12}]})"));
  CHECK(derived != val_loss(R"(validation.dataset={path="other", transforms=[{type="RandomVerticalFlip", p=1.0}]})"));
}

TEST_CASE("mixed images train with shares of classes, and their accuracy is measured on unmixed ones") {
  const ImageWorkspace w;
  const std::string mix = R"(dataset.mix=[{type="MixUp", alpha=0.4}, {type="CutMix", alpha=1.0}])";
  const RunFolder mixed = trained_images(w, {mix, "validation.split=0.2", "accumulate=2"}).run;
  CHECK(mixed.summary().at("final").contains("val_accuracy"));
  const RunFolder plain = trained_images(w, {"validation.split=0.2", "accumulate=2"}).run;
  CHECK(mixed.training() != plain.training());
  for (const char* workers : {"0", "3"}) {
    const RunFolder again =
        trained_images(w, {mix, "validation.split=0.2", "accumulate=2", std::string("loader.workers=") + workers}).run;
    check_same(again, mixed);
  }
}

TEST_CASE("a file that does not decode among the files read before the run is refused by name") {
  const ImageWorkspace w;
  w.write_image("images", 0, 0, "not an image");
  check_images_refused(w, {}, {"images/dark/00.png"});
  w.refused({"plan", "images.toml"}, {"images/dark/00.png"});
}

TEST_CASE("plan shows the classes of images with their counts, and the shape and range of a batch") {
  const ImageWorkspace w;
  const Outcome plan = w.done({"plan", "images.toml", "--json", "--set", "validation.split=0.25"});
  const Json data = Json::parse(plan.out).at("data");
  CHECK(data.at("classes").at("names") == Json(kImageClasses));
  std::int64_t images = 0;
  for (const Json& set : data.at("sets")) {
    for (const Json& count : set.at("class_counts")) images += count.get<std::int64_t>();
  }
  CHECK(images == 60);
  const Json input = data.at("first_batch").at("inputs").at(0);
  CHECK(input.at("shape") == Json({4, 3, 12, 12}));
  CHECK(input.at("least") == 0.0);
  CHECK(input.at("greatest").get<double>() <= 1);

  const Outcome page = w.done({"plan", "images.toml", "--preview", "page.html"});
  const std::string html = text_of(w.folder() / "page.html");
  std::size_t pictures = 0;
  for (std::size_t at = html.find("\"pixels\""); at != std::string::npos; at = html.find("\"pixels\"", at + 1))
    ++pictures;
  CHECK(pictures == 16);
  CHECK(contains(html, "dark"));
}

TEST_CASE("predict names each image by its given path, with its class and probabilities") {
  const ImageWorkspace w;
  trained_images(w, {"epochs=3"});
  fs::create_directories(w.folder() / "new" / "deep");
  w.write("new/b.png", class_png(1, 50));
  w.write("new/a.png", class_png(0, 51));
  w.write("new/deep/c.PNG", class_png(2, 52));
  w.write("new/note.txt", "no image");
  const std::string header = "path,prediction,probability_dark,probability_light,probability_noisy\n";
  const std::string folder = predicted(w, {"images", "new"});
  CHECK(folder.starts_with(header + "new/a.png,"));
  CHECK(contains(folder, "\nnew/b.png,"));
  CHECK(contains(folder, "\nnew/deep/c.PNG,"));
  CHECK(std::count(folder.begin(), folder.end(), '\n') == 4);
  CHECK(predicted(w, {"images", "new/"}) == folder);
  const std::string all = predicted(w, {"images", "."});
  CHECK(contains(all, "\n./images/dark/00.png,"));
  CHECK(contains(all, "\n./new/deep/c.PNG,"));
  CHECK(std::count(all.begin(), all.end(), '\n') == 64);
  const std::string files = predicted(w, {"images", "new/deep/c.PNG", "new/*.png"});
  CHECK(files.starts_with(header + "new/deep/c.PNG,"));
  CHECK(std::count(files.begin(), files.end(), '\n') == 4);
  w.write("new/bad.png", "not an image");
  check_predict_fails(w, 2, {"images", "new"}, {"new/bad.png", "name only files of images"});
}

TEST_CASE("predict gives the reason of an image that decodes and does not fit, and does not call it no image") {
  const ImageWorkspace w;
  w.write("images.toml", ImageWorkspace::text("", ", on_bad = \"skip\""));
  trained_images(w, {"epochs=1"});
  fs::create_directories(w.folder() / "new");
  w.write("new/a.png", class_png(0, 51));
  w.write("new/b.png", png_file(9, 7, 3, noise(9 * 7 * 3, 1)));
  const Outcome outcome =
      w.refused({"predict", "images", "new"}, {"new/b.png: ", "the images of a batch need the same shape"});
  CHECK_FALSE(contains(outcome.err, "name only files of images"));
}

TEST_CASE("eval on another folder draws nothing and has the bits of the validation on it") {
  const ImageWorkspace w;
  for (int number = 0; number < 3; ++number) {
    for (int image = 0; image < 4; ++image) w.write_image("other", number, image, class_png(number, 100 + image));
  }
  const RunFolder run = trained_images(w, {"validation.dataset={path=\"other\"}", "epochs=1"}).run;
  const Outcome eval = w.done({"eval", "images", "--set", "dataset.path=\"other\"", "--json"});
  CHECK(contains(eval.out, run.summary().at("final").at("val_loss").dump()));
}

TEST_CASE("a folder whose images have changed is refused by name when a run resumes") {
  const ImageWorkspace w;
  trained_images(w, {});
  w.write_image("images", 1, 3, class_png(1, 99) + "x");
  w.refused({"resume", "images", "--set", "epochs=3"}, {"images/light/03.png: has "});
}

TEST_CASE("the memory of ranks that train on images for many epochs does not grow") {
  const ImageWorkspace w;
  const auto process = w.start({"run", "images.toml", "--set", "epochs=100000", "--set", "log.tensorboard=false"});
  const RunFolder run = w.running(*process, "images", 8);
  const pid_t rank = process->ranks().back();
  REQUIRE(wait_until([&] { return run.last_step() >= 100; }, process->pid()));
  const std::int64_t early = resident_kib(rank);
  const std::int64_t seen = run.last_step();
  REQUIRE(wait_until([&] { return run.last_step() >= seen + 2000; }, process->pid()));
  const std::int64_t late = resident_kib(rank);
  process->signal(SIGINT);
  process->wait();
  INFO(early << " KiB, then " << late << " KiB");
  // As floats, 250 epochs with 60 images of 1728 bytes would be 26 MB.
  CHECK(late < early + 8 * 1024);
}

}  // namespace ddp::system_test
