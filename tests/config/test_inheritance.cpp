#include "catch.h"
#include "config/load/compose.h"
#include "scratch.h"

namespace ddp::config {
namespace {

// Loads the experiment "x.toml" that extends "base.toml".
Experiment over(const std::string& base, const std::string& text, const std::vector<std::string>& sets = {}) {
  const Scratch scratch;
  scratch.write("base.toml", kModelAndDataset + base);
  scratch.write("x.toml", "extends = \"base.toml\"\n" + text);
  return load("x.toml", sets, sample_components()).experiment;
}

}  // namespace

TEST_CASE("a file inherits the keys that it does not set, and tables merge") {
  const Experiment e =
      over("epochs = 3\nseed = 7\n[loader]\nworkers = 0\nshuffle = false\n", "seed = 8\n[loader]\nworkers = 1\n");
  CHECK(e.epochs == 3);
  CHECK(e.seed == 8);
  CHECK(e.loader.workers == 1);
  CHECK_FALSE(e.loader.shuffle);
  CHECK(e.name == "x");
}

TEST_CASE("a short form or another name replaces an inherited section whole") {
  const std::string base = "optimizer = { name = \"sgd\", lr = 0.5, momentum = 0.9 }\n";
  CHECK(over(base, "optimizer.lr = 0.25\n").optimizer.options == Value{{"lr", 0.25}, {"momentum", 0.9}});
  CHECK(over(base, "optimizer = { name = \"sgd\", lr = 0.25 }\n").optimizer.options ==
        Value{{"lr", 0.25}, {"momentum", 0.9}});
  CHECK(over(base, "optimizer = \"sgd\"\n").optimizer.options == Value{{"lr", 1e-3}, {"momentum", 0.0}});
  CHECK(over(base, "optimizer.name = \"adam\"\n").optimizer.options["lr"] == 1e-3);
  CHECK(over("optimizer.momentum = 0.9\n", "optimizer.name = \"adam\"\n").optimizer.name == "adam");
  CHECK(over("optimizer.momentum = 0.9\n", "optimizer.name = \"sgd\"\n").optimizer.options["momentum"] == 0.9);
}

TEST_CASE("a later form of a key overrides an inherited one in any form") {
  CHECK(over("backend = \"gloo\"\n", "distributed.backend = \"nccl\"\n").distributed.backend == "nccl");
  CHECK(over("distributed.backend = \"gloo\"\n", "", {"backend=nccl"}).distributed.backend == "nccl");
  CHECK(over("checkpoint.save_every = 1\n", "save_every = 2\n", {"checkpoint.save_every=3"}).checkpoint.save_every ==
        3);
}

TEST_CASE("steps replace inherited epochs, and epochs replace inherited steps") {
  const Experiment e = over("epochs = 3\nbatch_size = 4\n", "steps = 5\n", {"global_batch_size=8"});
  CHECK_FALSE(e.epochs);
  CHECK(e.steps == 5);
  CHECK_FALSE(e.batch_size);
  CHECK(e.global_batch_size == 8);
}

TEST_CASE("extends is relative to the file that contains it, through several files") {
  const Scratch scratch;
  scratch.write("a/one.toml", "extends = \"../b/two.toml\"\nseed = 1\n");
  scratch.write("b/two.toml", "extends = \"three.toml\"\nseed = 2\nepochs = 2\n");
  scratch.write("b/three.toml", kModelAndDataset + "epochs = 3\naccumulate = 3\n");
  const Experiment e = load("a/one.toml", {}, sample_components()).experiment;
  CHECK(e.seed == 1);
  CHECK(e.epochs == 2);
  CHECK(e.accumulate == 3);
}

TEST_CASE("a mistake in an inherited file is shown in that file") {
  const Scratch scratch;
  scratch.write("base.toml", kModelAndDataset + "epoch = 3\n");
  scratch.write("x.toml", "extends = \"base.toml\"\nseeds = 1\n");
  const std::string said = mistakes_of("x.toml");
  CHECK(contains(said, "x.toml:2:1: unknown key \"seeds\""));
  CHECK(contains(said, "base.toml:3:1: unknown key \"epoch\""));
}

TEST_CASE("files that extend each other or a missing file are an error at the key") {
  const Scratch scratch;
  scratch.write("a.toml", "extends = \"b.toml\"\n");
  scratch.write("b.toml", "seed = 1\nextends = \"a.toml\"\n");
  scratch.write("self.toml", "extends = \"./self.toml\"\n");
  scratch.write("gone.toml", "extends = \"nowhere.toml\"\n");
  scratch.write("number.toml", "extends = 3\n");
  scratch.write("here.toml", "extends = \".\"\n");
  CHECK(contains(mistakes_of("a.toml"), "b.toml:2:11: this file extends itself"));
  CHECK(contains(mistakes_of("a.toml"), "a.toml -> b.toml -> a.toml"));
  CHECK(contains(mistakes_of("self.toml"), "self.toml:1:11: this file extends itself"));
  CHECK(contains(mistakes_of("gone.toml"), "gone.toml:1:11: cannot read \"nowhere.toml\": there is no such file"));
  CHECK(contains(mistakes_of("number.toml"), "\"extends\" must be the name of a file, not 3"));
  CHECK(contains(mistakes_of("here.toml"), "it is a directory"));
  for (int i = 0; i < 40; ++i) {
    scratch.write("c" + std::to_string(i) + ".toml", "extends = \"c" + std::to_string(i + 1) + ".toml\"\n");
  }
  CHECK(contains(mistakes_of("c0.toml"), "more than 16 files extend each other"));
}

TEST_CASE("a wrong extends is answered with the name to write") {
  const Scratch scratch;
  scratch.write("base.toml", kModelAndDataset);
  for (const auto& [value, remedy] : std::vector<std::pair<std::string, std::string>>{
           {"\"base\"", "did you mean \"base.toml\"?"},
           {"\"bsae.toml\"", "did you mean \"base.toml\"?"},
           {"[\"base.toml\"]", "\"extends\" must be the name of a file, not a list"}}) {
    scratch.write("x.toml", "extends = " + value + "\n");
    const std::string told = mistakes_of("x.toml");
    INFO(told);
    CHECK(contains(told, remedy));
  }
}

TEST_CASE("an assignment by --set changes a key like a file that extends the experiment") {
  const Experiment e =
      load_text(kModelAndDataset + "optimizer = \"sgd\"\n",
                {"optimizer.lr=0.1", "model.in_features=3", "name=run-1", "distributed.init_method=tcp://h:1",
                 "device_pool=[0, 1]", "loader.shuffle=false", "scheduler=cosine", "seed = 5"})
          .experiment;
  CHECK(e.optimizer.name == "sgd");
  CHECK(e.optimizer.options["lr"] == 0.1);
  CHECK(e.model.options["in_features"] == 3);
  CHECK(e.name == "run-1");
  CHECK(e.distributed.init_method == "tcp://h:1");
  CHECK(e.device_pool == Value::array({0, 1}));
  CHECK_FALSE(e.loader.shuffle);
  CHECK(e.scheduler.name == "cosine");
  CHECK(e.seed == 5);
}

TEST_CASE("an assignment by --set to a component's name replaces its section whole") {
  const std::string file = "dataset = \"random_pairs\"\nmodel = { name = \"linear\", out_features = 3 }\n";
  CHECK(load_text(file, {"model=mlp", "model.in_features=2"}).experiment.model.name == "mlp");
  CHECK(load_text(file, {"model.in_features=2", "model.name=mlp"}).experiment.model.options["in_features"] == 2);
  CHECK(load_text(file, {"model=linear"}).experiment.model.options["out_features"] == 1);
}

TEST_CASE("several assignments by --set mean the same in any order, and none is dropped") {
  const std::string file = kModelAndDataset + "optimizer = { name = \"sgd\", momentum = 0.9 }\n";
  for (const char* adam : {"optimizer=adam", "optimizer.name=adam"}) {
    for (const bool first : {true, false}) {
      const std::string lr = "optimizer.lr=0.5";
      const Experiment e =
          load_text(file, first ? std::vector<std::string>{adam, lr} : std::vector<std::string>{lr, adam}).experiment;
      CHECK(e.optimizer.name == "adam");
      CHECK(e.optimizer.options["lr"] == 0.5);
      CHECK_FALSE(e.optimizer.options.contains("momentum"));
    }
  }
  CHECK(load_text(file, {"optimizer.momentum=0.5", "optimizer=sgd"}).experiment.optimizer.options["momentum"] == 0.5);
  CHECK(contains(mistakes(file, {"model.hidden=[1]", "model=linear"}), "model linear has no option \"hidden\""));
  const InitFrom weights = load_text(file, {"init_from.skip=[\"a\"]", "init_from=w.safetensors"}).experiment.init_from;
  CHECK(weights.skip == std::vector<std::string>{"a"});
  CHECK(weights.path.ends_with("w.safetensors"));
}

TEST_CASE("another component by a later --set begins its section anew") {
  const Value options =
      load_text(kModelAndDataset, {"optimizer={name=\"adam\",betas=[0.5,0.9]}", "optimizer={name=\"sgd\"}"})
          .experiment.optimizer.options;
  CHECK(options["lr"] == 1e-3);
}

TEST_CASE("two settings by --set that exclude each other are an error, and one replaces the other in the file") {
  for (const auto& [one, other] : std::vector<std::pair<std::string, std::string>>{
           {"epochs=1", "steps=2"}, {"batch_size=8", "global_batch_size=64"}, {"clip.norm=1", "clip.value=1"}}) {
    const std::string told = mistakes(kModelAndDataset, {one, other});
    INFO(told);
    CHECK(told.starts_with("--set 2: \""));
    CHECK(contains(told, "are both given"));
    CHECK(contains(told, "give one of them"));
    CHECK(mistakes(one + "\n" + kModelAndDataset, {other}) == "");
    CHECK(mistakes(other + "\n" + kModelAndDataset, {one}) == "");
  }
}

TEST_CASE("numbers in --set may be written as people write them") {
  const std::string file = kModelAndDataset + "optimizer = { name = \"sgd\", lr = 1.0 }\n";
  for (const auto& [written, number] : std::vector<std::pair<std::string, double>>{
           {".001", 1e-3}, {"1.", 1}, {"1.e-2", 1e-2}, {"1e-3", 1e-3}, {"+5", 5}, {"+.5", 0.5}}) {
    INFO(written);
    CHECK(load_text(file, {"optimizer.lr=" + written}).experiment.optimizer.options["lr"] == number);
  }
  CHECK(contains(mistakes(file, {"optimizer.lr=.0.1"}), "must be a number"));
  CHECK(contains(mistakes(file, {"optimizer.lr=."}), "must be a number"));
}

TEST_CASE("errors of an option that sets a key name the option") {
  const std::string set = assignment_of_option("--name", "name", "a b");
  CHECK(mistakes(kModelAndDataset, {set}).starts_with("--name: \"a b\" cannot be the name of an experiment\n  "));
}

TEST_CASE("a file name that cannot name a folder gives a similar name") {
  const Scratch scratch;
  scratch.write("my first run.toml", kModelAndDataset);
  CHECK(load("my first run.toml", {}, sample_components()).experiment.name == "my-first-run");
}

TEST_CASE("the last --set of a key wins") {
  CHECK(load_text(kModelAndDataset, {"seed=1", "seed=2"}).experiment.seed == 2);
}

TEST_CASE("an invalid assignment is an error that shows it") {
  const auto said = [](const std::string& set) { return mistakes(kModelAndDataset, {"seed=1", set}); };
  for (const std::string set : {"seed", "=1", "", "# x=1", "seed=1\nepochs=2"}) {
    CHECK(contains(said(set), "--set 2: not an assignment"));
  }
  CHECK(contains(said("seed="), "--set 2: the value is missing"));
  CHECK(contains(said("device_pool=[0,"), "--set 2: not TOML"));
  CHECK(contains(said("a b=1"), "--set 2: not TOML"));
  CHECK(contains(said("extends=x.toml"), "--set 2: \"extends\" belongs in a file"));
  CHECK(contains(said("optimizer.lr=x"), "--set 2: \"optimizer.lr\" must be a number"));
  CHECK(contains(said("optimizer.lr=x"), "     | optimizer.lr=x\n     |              ^"));
  CHECK(contains(said(std::string("a.") + std::string(2000, '.') + "=1"), "--set 2: "));
}

}  // namespace ddp::config
