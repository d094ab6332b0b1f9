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
                                kModelAndDataset + "epochs = [0, 1]", kModelAndDataset + "deterministic = 2"}) {
    const std::string told = mistakes(lines + "\n");
    INFO(told);
    CHECK(contains(told, "must be"));
    CHECK_FALSE(contains(told, "give "));
  }
}

TEST_CASE("the remedy for a value of --set is the whole option, quoted for the shell") {
  const std::string file = kMlp + "hidden = [4] }\n";
  CHECK(mistakes(file, {"model.hidden=64,32"}).ends_with("give --set 'model.hidden=[64, 32]'"));
  CHECK(mistakes(file, {"freeze=a.*"}).ends_with("give --set 'freeze=[\"a.*\"]'"));
  CHECK(mistakes(file, {"name=2024"}).ends_with("give --set 'name=\"2024\"'"));
}

}  // namespace ddp::config
