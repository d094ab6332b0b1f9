// The nearest name: of keys, components and choices, by their aliases and by edit distance.
#include "catch.h"
#include "config/check/suggest.h"
#include "config/experiment.h"
#include "errors.h"
#include "installed.h"
#include "scratch.h"

namespace ddp::config {
namespace {

std::string mistakes_in(const std::string& text) {
  const Scratch scratch;
  scratch.write("x.toml", text + "\n");
  return error_of([] { load("x.toml", {}, real_components()); });
}

// A line of a file, and the part of the answer that names what was probably meant.
struct Wrong {
  std::string lines;
  std::string remedy;
};

void check_remedies(const std::vector<Wrong>& all) {
  for (const Wrong& one : all) {
    const std::string told = mistakes_in(kModelAndDataset + one.lines);
    INFO(one.lines << "\n" << told);
    CHECK(contains(told, one.remedy));
  }
}

}  // namespace

TEST_CASE("an alias is answered with its key, wherever the key belongs") {
  const std::vector<Named> keys = keys_of(describe<Experiment>(), real_components());
  std::size_t aliases = 0;
  for (const Named& key : keys) {
    for (const std::string& alias : key.aliases) {
      INFO(alias << " of " << key.path);
      CHECK_FALSE(same_name(alias, keys).empty());
      ++aliases;
    }
    // No alias hides a key's own name.
    const std::string found = same_name(key.name, keys);
    CHECK(found.substr(found.rfind('.') + 1) == key.name);
  }
  CHECK(aliases >= 100);
  check_remedies({{"max_epochs = 1", "x.toml:3:1: unknown key \"max_epochs\""},
                  {"max_epochs = 1", "did you mean \"epochs\"?"},
                  {"Learning-Rate = 1", "did you mean \"optimizer.lr\"?"},
                  {"num_workers = 1", "did you mean \"loader.workers\"? It belongs in [loader]."},
                  {"data_dir = \"x\"", "did you mean \"dataset.path\"?"},
                  {"val_split = 0.1", "did you mean \"validation.split\"?"},
                  {"early_stopping = { patience = 3 }", "did you mean \"stop\"?"},
                  {"optimizer = { name = \"sgd\", learning_rate = 1 }", "did you mean \"lr\"?"},
                  {"loader.num_workers = 1", "did you mean \"workers\"?"},
                  {"validation.test_size = 0.2", "did you mean \"split\"?"},
                  {"scheduler = { name = \"cosine\", eta_min = 0.1 }", "did you mean \"min_lr\"?"},
                  {"[stop]\nmonitor = \"val_loss\"", "did you mean \"metric\"?"}});
}

TEST_CASE("a key in the wrong section is answered with its own section") {
  check_remedies({{"[loader]\nbatch_size = 2", "did you mean \"batch_size\"? It belongs at the top of the file."},
                  {"[loader]\nmax_epochs = 2", "did you mean \"epochs\"? It belongs at the top of the file."},
                  {"[loader]\npatience = 2", "did you mean \"stop.patience\"? It belongs in [stop]."},
                  {"[[groups]]\nmatch = \"*\"\nepochs = 2", "did you mean \"epochs\"? It belongs at the top"},
                  {"lr = 0.1", "did you mean \"optimizer.lr\"? It belongs in [optimizer]."},
                  {"wieght_decay = 0.1", "did you mean \"optimizer.weight_decay\"?"},
                  {"[checkpoint]\nevery = 2", "did you mean "}});
  CHECK(contains(mistakes(kModelAndDataset, {"lr=0.1"}), "did you mean \"optimizer.lr\"?"));
}

TEST_CASE("names of components and choices of PyTorch are answered with the names here") {
  check_remedies({{"loss = \"mae\"", "did you mean \"l1\"?"},
                  {"loss = \"BCEWithLogitsLoss\"", "did you mean \"bce_with_logits\"?"},
                  {"loss = \"torch.nn.CrossEntropyLoss\"", "did you mean \"cross_entropy\"?"},
                  {"scheduler = \"CosineAnnealingLR\"", "did you mean \"cosine\"?"},
                  {"scheduler = \"ReduceLROnPlateau\"", "did you mean \"plateau\"?"},
                  {"optimizer = \"torch.optim.Adam\"", "did you mean \"adam\"?"},
                  {"optimizer = \"adamm\"", "did you mean \"adam\"?"},
                  {"precision = \"bf16-mixed\"", "did you mean \"bf16\"?"},
                  {"stop.metric = \"rmse\"", "did you mean \"val_rmse\"?"},
                  {"checkpoint.metric = \"val_acc\"", "did you mean \"val_accuracy\"?"},
                  {"parallel = \"dp\"", "did you mean \"data_parallel\"?"},
                  {"loss = \"zzzzzzzz\"", "every loss: bce_with_logits, cross_entropy"}});
}

TEST_CASE("the nearest name ignores case and dashes, and is empty if none is near") {
  const std::vector<Named> commands = {{.name = "run", .aliases = {"train", "fit"}}, {.name = "resume"}};
  CHECK(nearest_name("train", commands) == "run");
  CHECK(nearest_name("Resmue", commands) == "resume");
  CHECK(nearest_name("deploy", commands).empty());
  CHECK(remedy_of_name("deploy", commands, "commands") == "commands: run, resume");
  const Scratch scratch;
  scratch.write("new.toml", "");
  scratch.write("base.toml", "");
  CHECK(file_like("gone.toml").empty());
  CHECK(file_like("bsae.toml") == "base.toml");
}

TEST_CASE("the list of all keys is printed once for many unknown keys") {
  const std::string told = mistakes_in(kModelAndDataset + "qqqqqq = 1\nzzzzzz = 2\nxxxxxx = 3");
  CHECK(count(told, "keys: name, seed") == 1);
}

TEST_CASE("a condition of a group that never holds is refused") {
  for (const char* condition : {"ndim<0", "ndim<-1", "ndim<=-1", "ndim==-2"}) {
    check_remedies({{"groups = [{ match = \"" + std::string(condition) + "\" }]", "has a condition that never holds"}});
  }
  for (const char* condition : {"dim<2", "ndim=1", "weight.ndim>1"}) {
    check_remedies({{"groups = [{ match = \"" + std::string(condition) + "\" }]", "has an invalid condition"}});
  }
  for (const char* condition : {"ndim<1", "ndim<=0", "ndim==0", "ndim>-1"}) {
    CHECK(mistakes_in(kModelAndDataset + "groups = [{ match = \"" + condition + "\" }]").empty());
  }
}

}  // namespace ddp::config
