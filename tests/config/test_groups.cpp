#include <tuple>

#include "catch.h"
#include "config/experiment.h"
#include "config/text/toml.h"
#include "scratch.h"
#include "words.h"

namespace ddp::config {

TEST_CASE("a group of parameters has the optimizer's options except lr, and keeps only the options that it sets") {
  const Experiment e = load_text(kModelAndDataset + R"([[groups]]
match = "*.bias"
momentum = 1
[[groups]]
match = ["0.*", "ndim>=2"]
lr_scale = 0.5
)")
                           .experiment;
  const std::vector<ParameterGroup> groups = parameter_groups(e);
  REQUIRE(groups.size() == 2);
  CHECK(groups[0].patterns() == std::vector<std::string>{"*.bias"});
  CHECK(groups[0].lr_scale == 1);
  CHECK(groups[0].options == Value{{"momentum", 1.0}});
  CHECK(groups[1].patterns() == std::vector<std::string>{"0.*", "ndim>=2"});
  CHECK(groups[1].lr_scale == 0.5);
  CHECK(groups[1].options.empty());
  const Scratch scratch;
  scratch.write("again.toml", to_toml(e));
  CHECK(load("again.toml", {}, sample_components()).experiment.groups == e.groups);
}

TEST_CASE("a mistake in a group of parameters shows its place and what is allowed") {
  const std::string lr = mistakes(kModelAndDataset + "[[groups]]\nmatch = \"*\"\nlr = 0.5\n");
  CHECK(lr.find("x.toml:5:1: unknown key \"lr\" in [groups[0]]") == 0);
  CHECK(contains(lr, "did you mean \"lr_scale\"?"));
  const std::string beta = mistakes(kModelAndDataset + "groups = [{ match = \"*\", betas = [0.5, 0.5] }]\n");
  CHECK(contains(beta, "unknown key \"betas\" in [groups[0]]"));
  CHECK(contains(beta, "match, lr_scale, optimizer, momentum"));
  CHECK(contains(beta, "this option belongs to optimizer adam"));
  CHECK(contains(mistakes(kModelAndDataset + "groups = [{ match = \"*\", momentm = 0.5 }]\n"), "\"momentum\"?"));
  CHECK(
      mistakes(kModelAndDataset + "optimizer = \"adam\"\ngroups = [{ match = \"*\", betas = [0.5, 0.5] }]\n").empty());
  CHECK(contains(mistakes(kModelAndDataset + "groups = [{ lr_scale = 0.5 }]\n"), "\"groups[0].match\" is missing"));
  CHECK(contains(mistakes(kModelAndDataset + "groups = [{ match = [] }]\n"), "\"groups[0].match\" is empty"));
  CHECK(contains(mistakes(kModelAndDataset + "groups = [{ match = [\"*.bias\", \"ndim=2\"] }]\n"), "\"ndim=2\""));
  CHECK(contains(mistakes(kModelAndDataset + "groups = [{ match = \"*\", lr_scale = -1 }]\n"), "at least 0"));
  CHECK(contains(mistakes(kModelAndDataset + "groups = [\"*\"]\n"), "\"groups[0]\" must be"));
}

TEST_CASE("a group with an optimizer of its own has all of that optimizer's options") {
  const Experiment e =
      load_text(kModelAndDataset + "groups = [{ match = \"*\", optimizer = \"adam\", lr = 0.5, betas = [0.5, 0.5] }]\n")
          .experiment;
  const ParameterGroup group = parameter_groups(e).at(0);
  CHECK(group.optimizer == "adam");
  CHECK(group.options == Value{{"lr", 0.5}, {"betas", {0.5, 0.5}}});
  const auto told = [](const std::string& keys) {
    return mistakes(kModelAndDataset + "groups = [{ match = \"*\", " + keys + " }]\n");
  };
  CHECK(contains(told("optimizer = \"adem\""), "there is no optimizer \"adem\""));
  const std::string scaled = told("optimizer = \"adam\", lr_scale = 0.5");
  CHECK(contains(scaled, "unknown key \"lr_scale\""));
  CHECK(contains(scaled, "did you mean \"lr\"?"));
  CHECK(contains(told("optimizer = \"adam\", momentum = 0.5"), "unknown key \"momentum\""));
}

TEST_CASE("layer_decay needs layers, and the reverse; groups have neither") {
  const auto told = [](const std::string& keys, const std::string& group = "") {
    return mistakes(kModelAndDataset + "optimizer = { name = \"adam\"" + keys + " }\n" + group);
  };
  const std::string layers = ", layers = [\"a\", \"b.*\"]";
  CHECK(told(layers + ", layer_decay = 0.75").empty());
  CHECK(told(layers + ", layer_decay = 1").empty());
  CHECK(contains(told(layers + ", layer_decay = 0"), "a number above 0 to 1, not 0"));
  CHECK(contains(told(layers + ", layer_decay = 1.5"), "a number above 0 to 1, not 1.5"));
  CHECK(contains(told(layers), "x.toml:3:30: \"layers\" needs \"optimizer.layer_decay\""));
  CHECK(contains(told(", layer_decay = 0.5"), "x.toml:3:30: \"layer_decay\" needs \"optimizer.layers\""));
  CHECK(contains(told(", layer_decay = 0.5, layers = []"), "\"optimizer.layers\" is empty"));
  CHECK(contains(told(", layer_decay = 0.5, layers = [3]"), "must be a text"));
  for (const char* own : {"", ", optimizer = \"adam\""}) {
    const std::string group = std::string("groups = [{ match = \"*\"") + own + ", layer_decay = 0.5 }]\n";
    CHECK(contains(told("", group), "did you mean \"optimizer.layer_decay\"? It belongs in [optimizer]."));
  }
  const Experiment e = load_text(kModelAndDataset + "optimizer = \"adam\"\n").experiment;
  CHECK_FALSE(e.optimizer.options.contains("layers"));
}

TEST_CASE("groups of parameters replace the groups of the extended file") {
  const Scratch scratch;
  scratch.write("base.toml", kModelAndDataset + "[[groups]]\nmatch = \"a\"\n[[groups]]\nmatch = \"b\"\n");
  scratch.write("x.toml", "extends = \"base.toml\"\n[[groups]]\nmatch = \"c\"\n");
  scratch.write("y.toml", "extends = \"base.toml\"\n");
  CHECK(load("x.toml", {}, sample_components()).experiment.groups.size() == 1);
  CHECK(load("y.toml", {}, sample_components()).experiment.groups.size() == 2);
}

TEST_CASE("a condition compares the number of dimensions") {
  for (const auto& [text, of_one, of_two] :
       std::vector<std::tuple<std::string, bool, bool>>{{"ndim<2", true, false},
                                                        {"ndim <= 1", true, false},
                                                        {"ndim>1", false, true},
                                                        {"ndim>=1", true, true},
                                                        {"ndim==2", false, true}}) {
    INFO(text);
    const auto condition = condition_of(text);
    REQUIRE(condition);
    CHECK(condition->holds(1) == of_one);
    CHECK(condition->holds(2) == of_two);
  }
  for (const char* text : {"ndim<", "ndim<two", "ndim!=1", "ndim=1", "ndim"}) CHECK_FALSE(condition_of(text));
  CHECK(is_condition("ndim!=1"));
  CHECK_FALSE(is_condition("ndimension.weight"));
}

}  // namespace ddp::config
