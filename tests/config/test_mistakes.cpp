#include "catch.h"
#include "scratch.h"

namespace ddp::config {

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
  const std::vector<std::string> in_order = {
      "x.toml:1:9: there is no model \"linaer\"",
      "did you mean \"linear\"?",
      "x.toml:3:10: \"epochs\" must be an integer from 1 to 1000000000, not true",
      "x.toml:5:11: \"loader.workers\" must be an integer from 0 to 256, not -1",
      "x.toml:6:1: unknown key \"shufle\" in [loader]",
      "did you mean \"shuffle\"?",
      "x.toml:8:13: \"checkpoint.keep_last\" must be an integer from 1 to 1000000000, not the text \"2\"",
      "--set 1: \"seed\" must be an integer of at least 0, not the text \"x\"",
  };
  std::size_t at = 0;
  for (const std::string& part : in_order) {
    INFO(part << "\nin\n" << said);
    const std::size_t found = said.find(part, at);
    REQUIRE(found != std::string::npos);
    at = found;
  }
}

TEST_CASE("the first fifty of very many mistakes are shown and the others counted") {
  std::string text = kModelAndDataset;
  for (int i = 0; i < 200; ++i) text += "unknown_" + std::to_string(i) + " = 1\n";
  const std::string said = mistakes(text);
  CHECK(contains(said, "unknown_49\""));
  CHECK_FALSE(contains(said, "unknown_50\""));
  CHECK(contains(said, "and 150 more"));
}

TEST_CASE("the error about a file without a model or a dataset lists the available ones") {
  const std::string said = mistakes("epochs = 1\n");
  CHECK(contains(said, "x.toml: \"model\" is missing\n  every model: linear, mlp, sequential"));
  CHECK(contains(said, "x.toml: \"dataset\" is missing"));
}

TEST_CASE("an option that the chosen component lacks is refused with the components that have it") {
  const std::string said = mistakes(kModelAndDataset + "optimizer = { name = \"sgd\", betas = [0.9, 0.99] }\n");
  CHECK(contains(said, "x.toml:3:29: optimizer sgd has no option \"betas\""));
  CHECK(contains(said, "optimizer sgd's options: lr, momentum"));
  CHECK(contains(said, "this option belongs to optimizer adam"));
}

TEST_CASE("a missing required option of a component is an error") {
  CHECK(contains(mistakes("model = \"mlp\"\ndataset = \"random_pairs\"\n"),
                 "x.toml:1:9: \"model.in_features\" is missing"));
}

TEST_CASE("the error about a key in the wrong section names the right section") {
  CHECK(contains(mistakes(kModelAndDataset + "lr = 0.1\n"), "did you mean \"optimizer.lr\"?"));
  CHECK(contains(mistakes(kModelAndDataset + "workers = 1\n"), "did you mean \"loader.workers\"?"));
  CHECK(contains(mistakes(kModelAndDataset + "[loader]\nbatch_size = 1\n"),
                 "did you mean \"batch_size\"? It belongs at the top"));
  CHECK(contains(mistakes(kModelAndDataset + "backnd = \"gloo\"\n"), "did you mean \"backend\"?"));
}

TEST_CASE("a value of the wrong type, out of range, not finite or not a choice is refused") {
  const auto said = [](const std::string& line) { return mistakes(kModelAndDataset + line + "\n"); };
  CHECK(contains(said("seed = 1.0"), "\"seed\" must be an integer of at least 0, not 1.0"));
  CHECK(contains(said("seed = false"), "not false"));
  CHECK(contains(said("seed = 1979-05-27"), "not a date or time"));
  CHECK(contains(said("seed = [1]"), "not a list"));
  CHECK(contains(said("seed = {}"), "not a table"));
  CHECK(contains(said("deterministic = 1"), "\"deterministic\" must be true or false, not 1"));
  CHECK(contains(said("optimizer.lr = true"), "\"optimizer.lr\" must be a number of at least 0, not true"));
  CHECK(contains(said("optimizer.lr = nan"), "not nan"));
  CHECK(contains(said("optimizer.lr = -inf"), "not -inf"));
  CHECK(contains(said("validation.split = 1.0"), "\"validation.split\" must be a number from 0 to below 1, not 1.0"));
  CHECK(contains(said("distributed.timeout = 0"), "a number above 0 to 10000000, not 0"));
  CHECK(contains(said("parallel = \"dpp\""), "one of \"data_parallel\", \"ddp\", \"single\", not the text \"dpp\""));
  CHECK(contains(said("parallel = \"dpp\""), "did you mean \"ddp\"?"));
  CHECK(contains(said("loader = 3"), "\"loader\" must be a table, not 3"));
  CHECK(contains(said("optimizer = 3"), "\"optimizer\" must be a name or a table with a name, not 3"));
  CHECK(contains(said("optimizer = { name = 3 }"), "\"optimizer.name\" must be a text, not 3"));
}

TEST_CASE("the length and the items of a list are checked") {
  const auto said = [](const std::string& options) {
    return mistakes(kModelAndDataset + "optimizer = { name = \"adam\", betas = " + options + " }\n");
  };
  CHECK(said("[0, 0.5]") == "");
  CHECK(contains(said("[0.9]"), "\"optimizer.betas\" must be a list of 2 numbers from 0 to below 1, not a list"));
  CHECK(contains(said("[0.9, 1]"), "\"optimizer.betas[1]\" must be a number from 0 to below 1, not 1"));
  CHECK(contains(said("[0.9, \"x\"]"), "\"optimizer.betas[1]\""));
  CHECK(contains(said("0.9"), "not 0.9"));
  CHECK(contains(said("[0.9]"), "not a list of 1\n"));
}

TEST_CASE("a value in another unit or form is refused with the form that the key takes") {
  for (const auto& [line, what] : std::vector<std::pair<std::string, std::string>>{
           {"stop.max_time = 3600", "must be a text such as \"2h30m\""},
           {"stop.max_time = \"2 hours 30 min\"", "must be a text such as \"2h30m\""},
           {"notify.command = \" \"", "must be a command, which is not empty"},
           {"grace = \"30s\"", "must be a number above 0"},
           {"save_every = \"2 epochs\"", "must be an integer"},
           {"validation.every = \"2 epochs\"", "must be epochs or steps"},
           {"validation.split = 20", "must be a number from 0 to below 1, not 20"},
           {"epochs = \"3\"", "must be an integer"},
           {"deterministic = 1", "must be true or false, not 1"},
           {"freeze = \"a.*\"", "must be a list of texts, not the text \"a.*\""},
           {"optimizer.lr = [0.1, 0.2]", "must be a number of at least 0, not a list"},
           {"clip = 1.5", "its keys: norm, value"},
           {"groups = { match = \"*\" }", "must be a list of tables, not a table"},
           {"device_pool = \"cuda:1\"", "give \"auto\" (every GPU, or two CPU ranks), 4, [0, 1]"}}) {
    const std::string said = mistakes(kModelAndDataset + line + "\n");
    INFO(said);
    CHECK(said.starts_with("x.toml:3:"));
    CHECK(contains(said, what));
  }
}

TEST_CASE("each table of a list of layers is checked against its type") {
  const auto said = [](const std::string& layer) {
    return mistakes("dataset = \"random_pairs\"\n[model]\nname = \"sequential\"\nlayers = [\n" + layer + "\n]\n");
  };
  CHECK(said("{ type = \"Conv2d\", kernel_size = 3 }, { type = \"Conv2d\", kernel_size = [3, 5] }, { type = "
             "\"ReLU\" }") == "");
  CHECK(contains(said("{ type = \"relu\" }"), "x.toml:5:10: there is no type \"relu\""));
  CHECK(contains(said("{ type = \"relu\" }"), "did you mean \"ReLU\"?"));
  CHECK(contains(said("{ kernel_size = 3 }"), "\"model.layers[0].type\" is missing"));
  CHECK(contains(said("{ type = 3 }"), "\"model.layers[0].type\" must be a text, not 3"));
  CHECK(contains(said("{ type = \"Conv2d\" }"), "\"model.layers[0].kernel_size\" is missing"));
  CHECK(contains(said("{ type = \"Conv2d\", kernel_size = [3] }"),
                 "an integer of at least 1 or a list of 2 integers of at least 1, not a list"));
  CHECK(contains(said("{ type = \"Conv2d\", kernel_size = 3, bais = true }"),
                 "unknown key \"bais\" in [model.layers[0]]"));
  CHECK(contains(said("3"), "\"model.layers[0]\" must be a table, not 3"));
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

TEST_CASE("the error about an expected key that does not exist gives the reason") {
  const std::string graphs = mistakes(kModelAndDataset + "cuda_graph = true\n");
  CHECK(contains(graphs, "x.toml:3:1: there is no \"cuda_graph\" yet: CUDA graphs need a GPU"));
  CHECK_FALSE(contains(graphs, "unknown key"));
}

}  // namespace ddp::config
