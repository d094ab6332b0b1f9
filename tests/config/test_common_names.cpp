#include "catch.h"
#include "config/check/common_names.h"
#include "config/experiment.h"
#include "config/option/parameter.h"
#include "installed.h"
#include "scratch.h"

namespace ddp::config {
namespace {

std::string told_of_line(const std::string& line) {
  const Scratch scratch;
  scratch.write("x.toml", line + "\n" + (line.starts_with("dataset") ? "model = \"linear\"\n" : kModelAndDataset));
  try {
    load("x.toml", {}, real_components());
    return "";
  } catch (const Error& error) {
    return error.what();
  }
}

}  // namespace

TEST_CASE("names from other programs are answered with an existing key of the same meaning") {
  const std::vector<Option> options = describe<Experiment>();
  for (const CommonName& one : common_names()) {
    INFO(one.name);
    const std::string told = told_of_line(std::string(one.name) + " = 1");
    CHECK(contains(told, "x.toml:1:1: unknown key \"" + std::string(one.name) + "\""));
    CHECK((*one.key || *one.words));
    CHECK(contains(told, one.words));
    if (!*one.key) continue;
    CHECK(contains(told, "did you mean \"" + std::string(one.key) + "\"?"));
    CHECK(find_option(one.key, options, real_components()));
  }
}

TEST_CASE("a name from another program is recognized in any case, with - or _, and in a section") {
  CHECK(contains(told_of_line("Learning-Rate = 1"), "did you mean \"optimizer.lr\"?"));
  CHECK(contains(told_of_line("loader.num_workers = 1"), "did you mean \"loader.workers\"?"));
  CHECK(contains(told_of_line("optimizer = { name = \"sgd\", learning_rate = 1 }"), "did you mean \"optimizer.lr\"?"));
}

TEST_CASE("a name from another program is answered with the key of the section in which it stands") {
  for (const auto& [line, remedy] : std::vector<std::pair<std::string, std::string>>{
           {"validation.test_size = 0.2", "did you mean \"validation.split\"?"},
           {"dataset = { name = \"csv\", cat_features = [\"a\"] }", "did you mean \"dataset.categories\"?"},
           {"dataset = { name = \"csv\", sep = \";\" }", "did you mean \"dataset.delimiter\"?"},
           {"dataset = { name = \"csv\", labels = \"a\" }", "did you mean \"dataset.target\"?"}}) {
    INFO(line);
    CHECK(contains(told_of_line(line), remedy));
  }
}

TEST_CASE("names of losses, schedulers and metrics from other programs, and their values, are answered") {
  for (const auto& [line, remedy] : std::vector<std::pair<std::string, std::string>>{
           {"loss = \"mae\"", "did you mean \"l1\"?"},
           {"loss = \"BCEWithLogitsLoss\"", "did you mean \"bce_with_logits\"?"},
           {"scheduler = \"CosineAnnealingLR\"", "did you mean \"cosine\"?"},
           {"metrics = [\"f1\"]", "did you mean \"f1_macro\"?"},
           {"metrics = \"auc\"", "give metrics = [\"auroc\"]"},
           {"stop.metric = \"rmse\"", "did you mean \"val_rmse\"?"},
           {"checkpoint.metric = \"val_auc\"", "did you mean \"val_auroc\"?"},
           {"loss = { name = \"cross_entropy\", weight = \"balanced\" }", "give one number for each class"},
           {"dataset = { name = \"csv\", normalise = true }", "give normalise = \"standard\""}}) {
    INFO(line);
    CHECK(contains(told_of_line(line), remedy));
  }
}

TEST_CASE("a value in place of a section is answered with the key that takes it") {
  for (const auto& [line, remedy] :
       std::vector<std::pair<std::string, std::string>>{{"clip = 1.5", "[clip] norm = 1.5"},
                                                        {"clip = true", "[clip] norm = 1.0"},
                                                        {"ema = true", "[ema] decay = 0.999"},
                                                        {"ema = 0.99", "[ema] decay = 0.99"},
                                                        {"ema = 10", "[ema] decay = 0.999"},
                                                        {"ema = false", "leave it out"},
                                                        {"validation = 0.2", "[validation] split = 0.2"},
                                                        {"stop = 3", "[stop] patience = 3"},
                                                        {"loader = 4", "[loader] workers = 4"},
                                                        {"distributed = \"shm\"", "[distributed] backend = \"shm\""},
                                                        {"checkpoint = \"often\"", "[checkpoint] save_every = 1"},
                                                        {"log = 5", "[log] every = 5"}}) {
    INFO(line);
    const std::string told = told_of_line(line);
    CHECK(contains(told, "must be a table, not"));
    CHECK(contains(told, remedy));
  }
}

TEST_CASE("a condition of a group that never holds is refused") {
  for (const char* condition : {"ndim<0", "ndim<-1", "ndim<=-1", "ndim==-2"}) {
    const std::string told = told_of_line("groups = [{ match = \"" + std::string(condition) + "\" }]");
    CHECK(contains(told, "has a condition that never holds"));
  }
  for (const char* condition : {"ndim<1", "ndim<=0", "ndim==0", "ndim>-1"}) {
    CHECK(told_of_line("groups = [{ match = \"" + std::string(condition) + "\" }]").empty());
  }
}

}  // namespace ddp::config
