// The text of experiment files and of --set: what is TOML, and the place of what is not.
#include "catch.h"
#include "scratch.h"

namespace ddp::config {

TEST_CASE("a text that is not TOML is shown at its place, with the form of TOML") {
  for (const auto& [text, told] : std::vector<std::pair<std::string, std::string>>{
           {"name = tiny", "x.toml:1:9: not TOML: "},
           {"name = tiny", "a value is a number, true, false, \"text\" in quotes"},
           {"deterministic = True", "x.toml:1:17: not TOML"},
           {"epochs == 3", "x.toml:1:9: not TOML"},
           {"epochs: 3", "key = value, or [section]"},
           {"epochs = 03", "x.toml:1:1"},
           {"lr = .5", "x.toml:1:6: not TOML"},
           {"epochs =", "x.toml:1:9: not TOML"},
           {"seed = 1\nepochs = 1\nepochs = 2", "x.toml:3:"},
           {"optimizer = \"sgd\"\n[optimizer]\nlr = 1", "x.toml:2:"},
           {"test = {\n  split = 0.1\n  by = \"a\",\n}", "x.toml:3:3: not TOML"},
           {"[!]", "x.toml:1:2: not TOML: expected bare key"}}) {
    const std::string said = mistakes(text + "\n");
    INFO(text << "\n" << said);
    CHECK(contains(said, told));
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

TEST_CASE("a setting that is no assignment is refused at its place") {
  for (const auto& [set, told] :
       std::vector<std::pair<std::string, std::string>>{{"epochs:5", "not an assignment"},
                                                        {"optimizer/lr=0.1", "not TOML"},
                                                        {"epochs==5", "\"epochs\" must be an integer"},
                                                        {"name=", "the value is missing"},
                                                        {"device_pool=[cpu,cpu]", "not TOML"}}) {
    const std::string said = mistakes(kModelAndDataset, {set});
    INFO(set << "\n" << said);
    CHECK(said.starts_with("--set 1: "));
    CHECK(contains(said, told));
  }
}

TEST_CASE("the place of a mistake in TOML counts characters, not bytes") {
  CHECK(contains(mistakes("validation = { by = \"größe\", seed = tiny }\n"), "x.toml:1:38: not TOML"));
}

}  // namespace ddp::config
