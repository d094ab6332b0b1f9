#include "catch.h"
#include "config/parts.h"
#include "scratch.h"

namespace ddp::config {
namespace {

using Parts = std::vector<std::string>;

// Lines after a model and a dataset, and parts of the answer.
void check_told(const std::vector<std::pair<std::string, Parts>>& all) {
  for (const auto& [lines, parts] : all) {
    const std::string said = mistakes(kModelAndDataset + lines + "\n");
    CHECK(said.starts_with("x.toml:"));
    check_parts(said, parts);
  }
}

}  // namespace

TEST_CASE("a mistake shows its place, its line, what is wrong and the nearest name") {
  CHECK(mistakes(kModelAndDataset + "batchsize = 32\n") == R"(x.toml:3:1: unknown key "batchsize"
   3 | batchsize = 32
     | ^~~~~~~~~
  did you mean "batch_size"?)");
}

TEST_CASE("every mistake of a file is shown at once, each with its place") {
  const std::string said = mistakes(R"(model = "linaer"
dataset = "random_pairs"
epochs = true
[loader]
workers = -1
shufle = true
[checkpoint]
keep_last = "2"
)",
                                    {"seed=x"});
  CHECK(count(said, " | ^") + count(said, " |  ") == 6);
  check_parts(said, {"x.toml:1:9: ", "\"linaer\"", "\"linear\"?", "x.toml:3:10: \"epochs\"", "not true",
                     "x.toml:5:11: \"loader.workers\"", "0 to 256, not -1", "x.toml:6:1: ", "\"shufle\" in [loader]",
                     "\"shuffle\"?", "x.toml:8:13: \"checkpoint.keep_last\"", "not the text \"2\"", "--set 1: \"seed\"",
                     "not the text \"x\""});
}

TEST_CASE("the first fifty of very many mistakes are shown and the others counted") {
  std::string text = kModelAndDataset;
  for (int i = 0; i < 200; ++i) text += "unknown_" + std::to_string(i) + " = 1\n";
  const std::string said = mistakes(text);
  check_parts(said, {"unknown_49\"", "150 more"});
  CHECK_FALSE(contains(said, "unknown_50\""));
}

TEST_CASE("a component or a required option that is missing is named, with the available components") {
  check_parts(mistakes("epochs = 1\n"),
              {"x.toml: \"model\"", "linear, mlp, sequential", "x.toml: \"dataset\" is missing"});
  check_parts(mistakes("model = \"mlp\"\ndataset = \"random_pairs\"\n"), {"x.toml:1:9: \"model.in_features\""});
}

TEST_CASE("a key in the wrong place is refused with the right one, or with what takes it") {
  check_told({{"optimizer = { name = \"sgd\", betas = [0.9, 0.99] }",
               {"x.toml:3:29: ", "sgd has no option \"betas\"", "lr, momentum", "adam"}},
              {"lr = 0.1", {"\"optimizer.lr\"?"}},
              {"workers = 1", {"\"loader.workers\"?"}},
              {"[loader]\nbatch_size = 1", {"x.toml:4:1: ", "\"batch_size\"?", "at the top"}},
              {"backnd = \"gloo\"", {"\"backend\"?"}},
              {"clip = 1.5", {"norm, value"}},
              {"cuda_graph = true", {"x.toml:3:1: there is no \"cuda_graph\" yet: "}}});
}

TEST_CASE("a value that a key does not take is refused with the value and what the key takes") {
  const auto betas = [](const std::string& list) { return "optimizer = { name = \"adam\", betas = " + list + " }"; };
  CHECK(mistakes(kModelAndDataset + betas("[0, 0.5]") + "\n") == "");
  check_told({{"seed = 1.0", {"x.toml:3:8: \"seed\"", "at least 0, not 1.0"}},
              {"seed = false", {"not false"}},
              {"seed = 1979-05-27", {"not a date"}},
              {"seed = [1]", {"not a list"}},
              {"seed = {}", {"not a table"}},
              {"deterministic = 1", {"\"deterministic\"", "not 1"}},
              {"optimizer.lr = true", {"\"optimizer.lr\"", "at least 0, not true"}},
              {"optimizer.lr = nan", {"not nan"}},
              {"optimizer.lr = -inf", {"not -inf"}},
              {"validation.split = 1.0", {"\"validation.split\"", "0 to below 1, not 1.0"}},
              {"distributed.timeout = 0", {"above 0", "not 0"}},
              {"parallel = \"dpp\"", {"\"data_parallel\", \"ddp\", \"single\"", "\"dpp\"", "\"ddp\"?"}},
              {"loader = 3", {"\"loader\"", "table, not 3"}},
              {"optimizer = 3", {"\"optimizer\"", "not 3"}},
              {"optimizer = { name = 3 }", {"\"optimizer.name\"", "text, not 3"}},
              {"groups = { match = \"*\" }", {"list of tables, not a table"}},
              {"freeze = \"a.*\"", {"list of texts, not the text \"a.*\""}},
              {"notify.command = \" \"", {"not empty"}},
              {"stop.max_time = 3600", {"\"2h30m\""}},
              {"grace = \"30s\"", {"above 0"}},
              {"validation.every = \"2 epochs\"", {"epochs or steps"}},
              {betas("[0.9]"), {"\"optimizer.betas\"", "2 numbers", "not a list of 1\n"}},
              {betas("[0.9, 1]"), {"\"optimizer.betas[1]\"", "below 1, not 1"}},
              {betas("[0.9, \"x\"]"), {"\"optimizer.betas[1]\""}},
              {betas("0.9"), {"not 0.9"}}});
}

TEST_CASE("each table of a list of layers is checked against its type") {
  const auto said = [](const std::string& layer) {
    return mistakes("dataset = \"random_pairs\"\n[model]\nname = \"sequential\"\nlayers = [\n" + layer + "\n]\n");
  };
  CHECK(said("{ type = \"Conv2d\", kernel_size = 3 }, { type = \"Conv2d\", kernel_size = [3, 5] }, { type = "
             "\"ReLU\" }") == "");
  for (const auto& [layer, parts] : std::vector<std::pair<std::string, Parts>>{
           {"{ type = \"relu\" }", {"x.toml:5:10: ", "\"relu\"", "\"ReLU\"?"}},
           {"{ kernel_size = 3 }", {"\"model.layers[0].type\" is missing"}},
           {"{ type = 3 }", {"\"model.layers[0].type\"", "not 3"}},
           {"{ type = \"Conv2d\" }", {"\"model.layers[0].kernel_size\" is missing"}},
           {"{ type = \"Conv2d\", kernel_size = [3] }", {"list of 2 integers", "not a list"}},
           {"{ type = \"Conv2d\", kernel_size = 3, bais = true }", {"\"bais\" in [model.layers[0]]"}},
           {"3", {"\"model.layers[0]\"", "not 3"}}}) {
    check_parts(said(layer), parts);
  }
}

TEST_CASE("a check that runs after loading shows the line that set the key") {
  const Scratch scratch;
  scratch.write("x.toml", kModelAndDataset + "global_batch_size = 100\n");
  const Loaded loaded = load("x.toml", {"loader.workers=3"}, sample_components());
  CHECK(std::string(loaded.error("global_batch_size", "does not divide", "take 96").what()) ==
        "x.toml:3:21: does not divide\n   3 | global_batch_size = 100\n     |                     ^~~\n  "
        "take 96");
  CHECK(contains(loaded.error("loader.workers", "too many").what(), "--set 1: too many\n     | loader.workers=3"));
  CHECK(std::string(loaded.error("threads", "too many").what()) == "x.toml: \"threads\": too many");
  CHECK(contains(loaded.error("model", "does not fit").what(), "x.toml:1:1: does not fit"));
  CHECK(loaded.given("model.name"));
  CHECK(loaded.given("loader.workers"));
  CHECK_FALSE(loaded.given("loss"));
}

}  // namespace ddp::config
