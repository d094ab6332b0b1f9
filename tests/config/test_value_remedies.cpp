#include "catch.h"
#include "scratch.h"

namespace ddp::config {
namespace {

const std::string kMlp = "dataset = \"random_pairs\"\nmodel = { name = \"mlp\", in_features = 2, ";

struct WrongValue {
  std::string lines;
  std::string remedy;
};

}  // namespace

TEST_CASE("a value in another form is answered with the setting to write") {
  const std::vector<WrongValue> all = {
      {kMlp + "hidden = 64 }", "give hidden = [64]"},
      {kMlp + "hidden = \"64\" }", "give hidden = [64]"},
      {kMlp + "hidden = \"64, 32\" }", "give hidden = [64, 32]"},
      {kMlp + "hidden = 64.0 }", "give hidden = [64]"},
      {kModelAndDataset + "epochs = \"3\"", "give epochs = 3"},
      {kModelAndDataset + "epochs = 3.0", "give epochs = 3"},
      {kModelAndDataset + "optimizer.lr = \"1e-3\"", "give lr = 0.001"},
      {kModelAndDataset + "deterministic = \"true\"", "give deterministic = true"},
      {kModelAndDataset + "deterministic = 1", "give deterministic = true"},
      {kModelAndDataset + "loader.shuffle = 0", "give shuffle = false"},
      {kModelAndDataset + "name = 2024", "give name = \"2024\""},
      {kModelAndDataset + "freeze = \"a.*\"", "give freeze = [\"a.*\"]"},
      {kModelAndDataset + "threads = \"None\"", "leave it out"},
      {kModelAndDataset + "optimizer.lr = [0.1, 0.2]", "below [sweep.parameters] write \"optimizer.lr\" = [0.1, 0.2]"},
      {kModelAndDataset + "epochs = \"5,10\"", "below [sweep.parameters] write \"epochs\" = [5, 10]"},
      {kModelAndDataset + "deterministic = \"yes\"", "give deterministic = true"},
      {kModelAndDataset + "device_pool = 2.0", "give device_pool = 2"},
      {kModelAndDataset + "checkpoint.metric = { name = \"train_loss\" }", "give metric = \"train_loss\""},
      {kModelAndDataset + "metrics = [{ name = \"accuracy\" }]", "give \"accuracy\""},
      {kModelAndDataset + "ema = \"0.99\"", "write ema = { decay = 0.99 }"},
      {kModelAndDataset + "groups = [\"*.bias\"]", "write { match = \"*.bias\", … }"},
      {kModelAndDataset + "stop.max_time = 3600", "give max_time = \"3600s\""},
      {kModelAndDataset + "stop.max_time = \"90 minutes\"", "give max_time = \"90m\""},
      {kModelAndDataset + "stop.max_time = \"2 Hours 30 min\"", "give max_time = \"2h30m\""},
      {kModelAndDataset + "stop.max_time = \"1:30:00\"", "give max_time = \"1h30m00s\""},
      {kModelAndDataset + "grace = \"30s\"", "give grace = 30"},
      {kModelAndDataset + "distributed.timeout = \"10 min\"", "give timeout = 600"},
      {kModelAndDataset + "save_every = \"2 epochs\"", "give save_every = 2"},
      {kModelAndDataset + "checkpoint.save_every = \"100 steps\"", "give save_every_steps = 100"},
      {kModelAndDataset + "validation.every = \"2 epochs\"", "a number alone counts epochs: every = 2"},
      {kModelAndDataset + "validation.split = 20", "give split = 0.2"},
      {kModelAndDataset + "test.split = \"20%\"", "give split = 0.2"},
      {kModelAndDataset + "freeze = true", "give patterns of names: freeze = [\"layer1.*\"]"},
      {kModelAndDataset + "metrics = [\"accuracy\", \"loss\"]", "leave it out: the loss is measured anyway"},
      {"dataset = \"random_pairs\"\nmodel = { name = \"sequential\", layers = \"ReLU\" }",
       "write layers = [{ type = \"…\" }]"},
      {kModelAndDataset + "loss = [\"mse\"]", "give loss = \"mse\""},
      {kModelAndDataset + "optimizer = [\"sgd\", \"adam\"]",
       "below [sweep.parameters] write \"optimizer\" = [\"sgd\", \"adam\"]"},
      {kModelAndDataset + "metrics = false", "give metrics = [], which measures the loss alone"},
      {kModelAndDataset + "precision = 16", "give precision = \"fp16\""}};
  for (const WrongValue& one : all) {
    const std::string told = mistakes(one.lines + "\n");
    INFO(one.lines << "\n" << told);
    CHECK(told.ends_with("\n  " + one.remedy) == (told.find("sweep.parameters") == std::string::npos));
    CHECK(contains(told, one.remedy));
  }
}

TEST_CASE("a value that fits in no other form has no such remedy") {
  for (const std::string& lines :
       std::vector<std::string>{kMlp + "hidden = 0 }", kMlp + "hidden = \"a, b\" }", kModelAndDataset + "epochs = 2.5",
                                kModelAndDataset + "epochs = [0, 1]", kModelAndDataset + "stop.max_time = \"2 months\"",
                                kModelAndDataset + "stop.max_time = \"1.5h\"", kModelAndDataset + "test.split = 1.0",
                                kModelAndDataset + "deterministic = 2"}) {
    const std::string told = mistakes(lines + "\n");
    INFO(told);
    CHECK(contains(told, "must be"));
    CHECK_FALSE(contains(told, "give "));
  }
}

TEST_CASE("a wrong value in an item of a list is answered without --set, which takes no key of an item") {
  const std::string told =
      mistakes(kModelAndDataset, {"groups=[{ match = \"*.bias\", lr_scale = \"2\" }]", "epochs=\"3\""});
  INFO(told);
  CHECK(contains(told, "give lr_scale = 2"));
  CHECK(contains(told, "give --set epochs=3"));
}

TEST_CASE("a path in place of data of their own is answered with settings that replace the split") {
  for (const std::string section : {"validation", "test"}) {
    const std::string told = mistakes(kModelAndDataset, {section + ".path=\"t.csv\""});
    INFO(told);
    CHECK(contains(told, "--set " + section + ".split=0 --set " + section + ".dataset.path=…"));
  }
}

TEST_CASE("a list of the wrong length is shown with its length") {
  CHECK(contains(mistakes(kModelAndDataset + "optimizer = { name = \"adam\", betas = [0.9] }\n"),
                 "must be a list of 2 numbers from 0 to below 1, not a list of 1\n"));
}

TEST_CASE("the values that remedies give are valid") {
  for (const char* line : {"stop.max_time = \"1h30m00s\"", "checkpoint.save_every_steps = 100",
                           "ema = { decay = 0.99 }", "distributed.timeout = 600", "test.split = 0.2", "metrics = []",
                           "checkpoint.keep_last = 1000000000", "device_pool = [0, 1]"}) {
    INFO(line);
    CHECK(mistakes(kModelAndDataset + std::string(line) + "\n") == "");
  }
}

TEST_CASE("a device pool in the words of other programs is answered with the pool to write") {
  for (const auto& [pool, remedy] : std::vector<std::pair<std::string, std::string>>{
           {"\"cpu\"", "give device_pool = [\"cpu\"]; other forms: "},
           {"\"cuda:1\"", "give device_pool = [1]; other forms: "},
           {"[\"cuda:0\", \"cuda:1\"]", "give device_pool = [0, 1]; other forms: "},
           {"[\"cpu:0\", \"cpu:1\"]", "give device_pool = [\"cpu\", \"cpu\"]; other forms: "},
           {"\"0,1\"", "give device_pool = [0, 1]; other forms: "},
           {"[0, \"1\"]", "give device_pool = [0, 1]; other forms: "},
           {"\"cuda\"", "give \"auto\" (every GPU, or two CPU ranks)"},
           {"\"mps\"", "give, for example, \"auto\""}}) {
    const std::string told = mistakes(kModelAndDataset + "device_pool = " + pool + "\n");
    INFO(told);
    CHECK(contains(told, remedy));
  }
  CHECK(contains(mistakes(kModelAndDataset, {"device_pool=cpu"}), "give --set 'device_pool=[\"cpu\"]'; other forms"));
}

TEST_CASE("the remedy for a value of --set is the whole option, quoted for the shell") {
  const std::string file = kMlp + "hidden = [4] }\n";
  CHECK(mistakes(file, {"model.hidden=64,32"}).ends_with("give --set 'model.hidden=[64, 32]'"));
  CHECK(mistakes(file, {"freeze=a.*"}).ends_with("give --set 'freeze=[\"a.*\"]'"));
  CHECK(mistakes(file, {"clip=1.5"}).ends_with("give --set clip.norm=1.5"));
}

}  // namespace ddp::config
