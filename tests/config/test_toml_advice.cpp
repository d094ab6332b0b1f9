#include "catch.h"
#include "scratch.h"

namespace ddp::config {
namespace {

struct WrongToml {
  std::string text;
  std::string told;
};

const std::vector<WrongToml> kWrongToml = {
    {"name = tiny", "x.toml:1:9: not TOML: \"tiny\" is not a value"},
    {"name = tiny", "text needs quotes: \"tiny\""},
    {"freeze = [a, b]", "text needs quotes: \"a\""},
    {"init_from = ./x.safetensors", "text needs quotes: \"./x.safetensors\""},
    {"warmup = 50%", "text needs quotes: \"50%\""},
    {"epochs = None", "TOML has no null: leave the key out"},
    {"epochs = null", "TOML has no null: leave the key out"},
    {"deterministic = True", "write true or false in lower case: true"},
    {"deterministic = FALSE", "write true or false in lower case: false"},
    {"deterministic = yes", "write true or false"},
    {"epochs: 3", "TOML writes key = value"},
    {"optimizer = { name: \"sgd\" }", "TOML writes key = value"},
    {"lernräte = 3", "x.toml:1:1: not TOML: a key consists of the letters A to Z"},
    {"a.b+c = 3", "x.toml:1:3: not TOML: a key consists of the letters A to Z"},
    {"lr = -0x1.8p1", "x.toml:1:6: not TOML: a hexadecimal number is a whole number"},
    {"epochs = 03", "write 3"},
    {"lr = .5", "write 0.5"},
    {"lr = 5.", "write 5.0"},
    {"lr = -.5", "write -0.5"},
    {"epochs =", "give a value after \"=\", or leave the key out"},
    {"name = 'x", "a text ends with the quote that begins it"},
    {"steps = 1,000", "numbers have no comma"},
    {"freeze = [\"a\" \"b\"]", "put a comma between two values"},
    {"name = \"x", "a text ends with the quote that begins it, on the same line"},
    {"test = { by = \"csv, split = \"x\" }", "a quotation mark is missing"},
    {"name = \"x\"y\"", "a quotation mark is missing"},
    {"loss = “mse”", "write straight quotes: loss = \"mse\""},
    {"  loss = ‘mse’", "write straight quotes: loss = \"mse\""},
    {"loss = „mse“", "write straight quotes: loss = \"mse\""},
    {"loss = { name = “mse” }", "write straight quotes: loss = { name = \"mse\" }"},
    {"loss = \"mse”", "write straight quotes: loss = \"mse\""},
    {"“loss” = 3", "write straight quotes: \"loss\" = 3"},
    {"epochs = −3", "write the minus sign of the keyboard: -3"},
    {"lr = 0.1, 0.2 # two", "a list has brackets: lr = [0.1, 0.2]"},
    {"freeze = \"a\", \"b\"", "a list has brackets: freeze = [\"a\", \"b\"]"},
    {"hidden = 64,32", "a number has a decimal point: hidden = 64.32; a list has brackets: hidden = [64, 32]"},
    {"lr = 0,1", "a number has a decimal point: lr = 0.1; a list has brackets: lr = [0, 1]"},
    {"betas = (0.9, 0.999)", "a list has brackets: [0.9, 0.999]"},
    {"steps = 1,000,000", "numbers have no comma: steps = 1000000"},
    {"epochs = 3;", "write no semicolon: 3"},
    {"epochs = 3 // long", "a comment begins with #"},
    {"// long", "a comment begins with #"},
    {"epochs == 3", "write one \"=\""},
    {"freeze = [\"a\"\nepochs = 3", "put a comma between two values, and \"]\" after the last one"},
    {"epochs 3", "a line is key = value, or a [section]"},
    {"[validation", "a section is one name in brackets: [validation]"},
    {"seed = 1\nepochs = 1\nepochs = 2", "x.toml:3:10: \"epochs\" is given twice: lines 2 and 3"},
    {"[validation]\nsplit = 0.1\n[test]\nsplit = 0.1\n[validation]\nevery = 2",
     "\"validation\" is given twice: lines 1 and 5"},
    {"validation = { split = 0.1, split = 0.2 }", "\"split\" is given twice\n"},
    {"split = 1\ntest = {\n  split = 2,\n  a = { split = 3 },\n  split = 4,\n}",
     "\"split\" is given twice: lines 3 and 5"},
    {"split = 1\ntest = {\n  a = 2,\n  split = 3, split = 4,\n}", "\"split\" is given twice\n"},
    {"test = {\n  split = 0.1\n  by = \"a\",\n}", "x.toml:3:3: not TOML"},
    {"[!]", "x.toml:1:2: not TOML: expected bare key"},
    {"optimizer = { name = \"sgd\" }\noptimizer.lr = 1", "\"optimizer\" is given twice: lines 1 and 2"},
    {"optimizer = \"sgd\"\n[optimizer]\nlr = 1", "\"optimizer\" is given twice: lines 1 and 2"},
};

}  // namespace

TEST_CASE("a text that is not TOML is answered with what to write instead") {
  for (const WrongToml& wrong : kWrongToml) {
    const std::string said = mistakes(wrong.text + "\n");
    INFO(wrong.text << "\n" << said);
    CHECK(contains(said, wrong.told));
  }
}

TEST_CASE("a file may be written in TOML 1.1") {
  const Experiment e = load_text(kModelAndDataset +
                                 "name = \"a\\x62\"\n"
                                 "optimizer = {\n  name = \"sgd\",  # a comment\n  momentum = 0.5,\n}\n")
                           .experiment;
  CHECK(e.name == "ab");
  CHECK(e.optimizer.options.at("momentum") == 0.5);
  CHECK(contains(mistakes(kModelAndDataset + "seed = 07:30\n"), "x.toml:3:8: \"seed\" must be an integer"));
  const std::string wrong = mistakes(kModelAndDataset + "optimizer = {\n  name = \"sgd\",\n  momentun = 0.5,\n}\n");
  INFO(wrong);
  CHECK(contains(wrong, "x.toml:5:3: "));
  CHECK(contains(wrong, "   5 |   momentun = 0.5,\n     |   ^~~~~~~~"));
}

TEST_CASE("a hint about backslashes is given for a backslash only") {
  for (const char* line : {"name = \"x", "name = 'x", "name = \"x”"}) {
    CHECK_FALSE(contains(mistakes(std::string(line) + "\n"), "backslash"));
  }
  CHECK(contains(mistakes("name = \"C:\\data\"\n"), "in which a backslash stands for itself"));
}

TEST_CASE("a setting that is no assignment is answered with the setting to write") {
  for (const auto& [set, told] : std::vector<std::pair<std::string, std::string>>{
           {"+optimizer.lr=0.1", "a key need not be in the file: --set optimizer.lr=0.1"},
           {"++optimizer.lr=0.1", "a key need not be in the file: --set optimizer.lr=0.1"},
           {"~optimizer.momentum", "schema` prints: --set optimizer.momentum=…"},
           {"~optimizer.momentum=0.9", "schema` prints: --set optimizer.momentum=…"},
           {"epochs:5", "write --set epochs=5"},
           {"epochs: 5", "write --set epochs=5"},
           {"epochs==5", "write --set epochs=5"},
           {"name=", "write an empty text as 'name=\"\"'"},
           {"loss=“mse”", "write straight quotes: --set 'loss=\"mse\"'"},
           {"optimizer/lr=0.1", "--set takes key=value"},
           {"device_pool=[cpu,cpu]", "--set 'device_pool=[\"cpu\",\"cpu\"]'"},
           {"device_pool=[[0, cpu]]", "--set 'device_pool=[[0, \"cpu\"]]'"},
           {"clip={norm=x}", "single quotes around the setting keep them from the shell"}}) {
    const std::string said = mistakes(kModelAndDataset, {set});
    INFO(set << "\n" << said);
    CHECK(said.starts_with("--set 1: "));
    CHECK(contains(said, told));
  }
  CHECK_FALSE(contains(mistakes(kModelAndDataset, {"name=="}), "too many"));
}

TEST_CASE("a file of settings in another format is answered with the format of experiment files") {
  const Scratch scratch;
  scratch.write("x.yaml", "epochs: 3\n");
  scratch.write("x.json", "{\"epochs\": 3}\n");
  for (const char* file : {"x.yaml", "x.json"}) CHECK(contains(mistakes_of(file), "an experiment file is TOML"));
}

TEST_CASE("the place of a mistake in TOML counts characters, not bytes") {
  CHECK(contains(mistakes("validation = { by = \"größe\", seed = tiny }\n"), "text needs quotes: \"tiny\""));
}

}  // namespace ddp::config
