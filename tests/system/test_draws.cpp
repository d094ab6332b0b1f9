// `plan FILE --draws N`, and a user's own transform.
#include <string>

#include "array_files.h"
#include "catch.h"
#include "image_files.h"
#include "sources.h"

namespace ddp::system_test {
namespace {

// 40 gray images of 6 x 5 pixels in four classes, and an experiment that trains on them.
void write_gray_images(const Workspace& w, const std::string& transforms, const std::string& more = "") {
  std::string labels;
  for (int i = 0; i < 40; ++i) labels += static_cast<char>(i % 4);
  w.write("images", idx_file({40, 6, 5}, noise(40 * 6 * 5, 1)));
  w.write("labels", idx_file({40}, labels));
  w.write("gray.toml", more + "dataset = { name = \"idx\", images = \"images\", labels = \"labels\", transforms = [" +
                           transforms + R"(] }
device_pool = ["cpu", "cpu"]
batch_size = 4
epochs = 2
threads = 1
[model]
name = "sequential"
layers = [{ type = "Flatten" }, { type = "Linear", in_features = 30, out_features = 4 }]
)");
}

Json drawn(const Workspace& w, int samples, const Words& sets = {}) {
  const Words arguments = with_sets({"plan", "gray.toml", "--draws", std::to_string(samples)}, sets);
  const Outcome outcome = w.done(arguments);
  return Json::parse(outcome.out);
}

// Requires exit code 2 and these words.
void check_draws_refused(const Workspace& w, const Words& arguments, const std::string& words) {
  w.refused(arguments, {words});
}

constexpr const char* kDrawing =
    R"({ type = "RandomCrop", size = [6, 5], padding = [2, 1] }, { type = "Resize", size = 5 },
  { type = "RandomHorizontalFlip" }, { type = "ColorJitter", brightness = 0.5 }, { type = "RandomErasing", p = 1 })";

}  // namespace

TEST_CASE("plan --draws prints the draws of the first samples under torchvision's names, the same for any ranks") {
  const Workspace w;
  write_gray_images(w, kDrawing);
  const Json told = drawn(w, 3);
  CHECK(told.at("version") == 1);
  CHECK(told.at("epoch") == 0);
  REQUIRE(told.at("samples").size() == 3);
  for (std::size_t i = 0; i < 3; ++i) {
    const Json& sample = told.at("samples")[i];
    CHECK(sample.at("sample") == i);
    const Json& draws = sample.at("draws");
    REQUIRE(draws.size() == 5);
    CHECK(draws[0].at("type") == "RandomCrop");
    CHECK(draws[0].at("padding") == Json{2, 1, 2, 1});
    CHECK(draws[0].at("height") == 6);
    CHECK(draws[1] == Json{{"type", "Resize"}});
    CHECK(draws[2].at("apply").is_boolean());
    CHECK(draws[3].at("fn_idx").size() == 4);
    CHECK(draws[3].at("brightness_factor").is_number());
    CHECK(draws[3].at("hue_factor").is_null());
    CHECK(draws[4].contains("v"));
  }
  CHECK(told.at("samples")[0].at("draws") != told.at("samples")[1].at("draws"));
  CHECK(drawn(w, 3, {"device_pool=[\"cpu\"]", "loader.workers=0"}) == told);
  CHECK(drawn(w, 3, {"seed=7"}).at("samples") != told.at("samples"));
  CHECK(drawn(w, 100).at("samples").size() == 40);
}

TEST_CASE("plan --draws prints training samples alone, by their numbers in the data") {
  const Workspace w;
  write_gray_images(w, kDrawing);
  const Json all = drawn(w, 100).at("samples");
  const Json some = drawn(w, 100, {"validation.split=0.25"}).at("samples");
  CHECK(some.size() == 30);
  for (const Json& sample : some) CHECK(sample == all[sample.at("sample").get<std::size_t>()]);
}

TEST_CASE("plan --draws refuses data without draws, a sweep, and --preview beside it") {
  const Workspace w("pairs.toml", kSmall);
  check_draws_refused(w, {"plan", "pairs.toml", "--draws", "1"}, "makes no random draws for its samples");
  w.write("swept.toml", "extends = \"pairs.toml\"\nsweep = { method = \"grid\", parameters = { seed = [1, 2] } }\n");
  check_draws_refused(w, {"plan", "swept.toml", "--draws", "1"}, "is a sweep, but --draws shows");
  check_draws_refused(w, {"plan", "pairs.toml", "--draws", "0"}, "--draws");
  check_draws_refused(w, {"plan", "pairs.toml", "--draws", "1", "--preview", "a.html"}, "--preview");
}

TEST_CASE("an invalid list of transforms is refused before anything is trained") {
  const Workspace w;
  write_gray_images(w, R"({ type = "Normalize", mean = [0.5], std = [0.5] }, { type = "CenterCrop", size = 5 })");
  check_draws_refused(w, {"run", "gray.toml"}, "transforms[1] CenterCrop: comes after Normalize");
  CHECK_FALSE(std::filesystem::exists(w.results()));
}

TEST_CASE("a transform in the user's own file is named, checked and drawn like the others", "[slow]") {
  const SourcesWorkspace w;
  w.write("own.cpp", R"(#include "datasets/transform/transform.h"

namespace ddp::datasets {
namespace {

struct InvertOptions {
  double p = 0.5;
  void fields(config::Fields& f) { f({.name = "p", .doc = "how likely", .range = config::between(0, 1)}, p); }
};

class Invert : public PixelTransform {
 public:
  explicit Invert(const InvertOptions& o) : p_(o.p) {}
  std::optional<config::Value> for_evaluation() const override { return config::Value::array(); }
  void apply(Image& image, Draws& draws, const DrawLog& draw_log) const override {
    const bool inverted = draws.uniform() < p_;
    draw_log("inverted", inverted);
    if (inverted) image.replace(image.pixels().bitwise_not());
  }

 private:
  const double p_;
};

const bool invert_registered = transforms().add<InvertOptions>(
    "Invert", "dark becomes light", [](const InvertOptions& o) { return std::make_unique<Invert>(o); });

}  // namespace
}  // namespace ddp::datasets
)");
  const std::string sources = "sources = [\"own.cpp\"]\n";
  write_gray_images(w, R"({ type = "Invert", p = 1 })", sources);
  const Outcome told = w.done({"plan", "gray.toml", "--draws", "1"});
  CHECK(Json::parse(told.out).at("samples")[0].at("draws") == Json{{{"type", "Invert"}, {"inverted", true}}});
  w.done({"run", "gray.toml", "--set", "validation.split=0.2"});
  write_gray_images(w, R"({ type = "Invert", p = 2 })", sources);
  w.refused({"validate", "gray.toml"}, {"transforms[0].p\" must be"});
}

}  // namespace ddp::system_test
