#include "catch.h"
#include "looking.h"
#include "tables.h"
#include "words.h"

namespace ddp::system_test {
namespace fs = std::filesystem;
namespace {

// A mistake of users, and parts of the answer: the fault, its place, and the valid value or nearest name.
struct UsersMistake {
  std::string line;  // after "ddp-exp"; words are separated by spaces
  std::string what;
  std::string where;
  std::string hint = "";
  std::string file = "";  // appended to kTiny in bad.toml
};

const std::vector<UsersMistake> kMistakes = {
    // Commands, arguments and options.
    {"train tiny.toml", "\"train\"", "", "run"},
    {"run tny.toml", "there is no such file", "tny.toml: ", "did you mean \"tiny.toml\"?"},
    {"run gone.toml", "there is no such file", "gone.toml: ", ""},
    {"run tiny", "there is no such file", "tiny: ", "did you mean \"tiny.toml\"?"},
    {"run share", "it is a directory", "share: "},
    {"run tiny.toml again", "\"again\"", "run: "},
    {"run tiny.toml --sett epochs=3", "--sett", "run: ", "--set"},
    {"run tiny.toml --max-restarts many", "\"many\"", "run: "},
    {"sweep tiny.toml --jobs 0", "\"0\"", "sweep: "},
    {"diff tiny", "RUN", "diff: "},
    {"compare tiny", "two or more runs", ""},
    {"sweep sweep.toml --trial 1", "needs the sweep of the trial", "--trial: "},
    {"slurm tiny.toml --output gone/job", "there is no such folder", "gone/job: "},
    {"schema summary.json", "unknown schema \"summary.json\"", "", "summary"},
    {"datasets cvs", "there is no dataset \"cvs\"", "datasets: ", "did you mean \"csv\"?"},
    // Settings.
    {"run tiny.toml --set epochs", "not an assignment", "--set 1: "},
    {"run tiny.toml --set lr=0.1", "unknown key \"lr\"", "--set 1: ", "did you mean \"optimizer.lr\"?"},
    {"run tiny.toml --set epochs=3 --set optimizer.lr=0,1", "\"optimizer.lr\" must be a number", "--set 2: "},
    {"run tiny.toml --set precision=bf16-mixed", "\"precision\" must be one of", "--set 1: ", "did you mean \"bf16\"?"},
    {"run tiny.toml --set device_pool=cpu", "\"device_pool\" must be", "--set 1: ", "[\"cpu\", \"cpu\"]"},
    {"run tiny.toml --set sources=[\"gone.cpp\"]", "there is no such file: ", "--set 1: "},
    {"run tiny.toml --name latest", "\"latest\" cannot be the name of an experiment", "--name: "},
    {"run tiny.toml --name größe", "cannot be the name of an experiment", "--name: ", "ASCII letters"},
    {"run tiny.toml --init-from nothing", "no such run: \"nothing\"", "--init-from: "},
    {"run tiny.toml --set epochs=3 --set steps=5", "\"epochs\" and \"steps\" are both given", "--set 2: "},
    {"sweep sweep.toml --set sweep.parameters.batch_size=8", "\"batch_size\" has one value", "--set 1: "},
    {"resume tiny --set model={name=\"mlp\",hidden=[4]}", "does not fit this change", "--set 1: "},
    {"resume tiny --set name=other --set epochs=2", "a run keeps its name", "--set 1: "},
    // Names of runs and their checkpoints.
    {"resume nothing", "no such run: \"nothing\"", "results: "},
    {"resume tny", "no such run: \"tny\"", "results: ", "did you mean \"tiny\"?"},
    {"fork tiny", "all steps are done at this checkpoint", "results/tiny/1: "},
    {"report tiny --output page.pdf", ".html", "page.pdf: "},
    {"resume tiny --from 7", "no complete checkpoint of step 7", "--from: ", "24"},
    {"export tiny out.onnx", "out.onnx", ""},
    {"sweep tiny.toml", "the file has no [sweep] table", "tiny.toml: "},
    {"list --where los>0.1", "\"los\"", "", "did you mean \"loss\"?"},
    // Experiment files.
    {"run bad.toml", "unknown key \"batchsize\"", "bad.toml:7:1: ", "did you mean \"batch_size\"?", "batchsize = 3"},
    {"run bad.toml", "\"seed\" must be an integer", "bad.toml:7:8: ", "", "seed = \"seven\""},
    {"run bad.toml", "there is no loss \"mae\"", "bad.toml:7:8: ", "did you mean \"l1\"?", "loss = \"mae\""},
    {"run bad.toml", "\"validation\" must be a table", "bad.toml:7:14: ", "split", "validation = \"share\""},
    {"run bad.toml", "unknown key \"accumulate\" in [loader]", "bad.toml:8:1: ", "at the top of the file",
     "[loader]\naccumulate = 2"},
    {"run bad.toml", "not TOML", "bad.toml:7:9: ", "\"text\" in quotes", "name = tiny"},
    {"sweep bad.toml", "\"num_samples\"", "bad.toml:8:", "belongs to method asha", "[sweep]\nnum_samples = 3"},
    {"run nofile.toml",
     "there is no such file: ", "nofile.toml:2:", "a relative path starts at the folder of the file"},
    {"plan bad.toml", "there is no init_method \"127.0.0.1:29500\"", "bad.toml:8:", "",
     "[distributed]\ninit_method = \"127.0.0.1:29500\""},
    {"run bad.toml", "is no .safetensors file: ", "bad.toml:7:", "", "init_from = \"text.pth\""},
    {"sweep bad.toml", "\"sweep.min_epochs\": min_epochs is more than the 3 epochs of a whole trial", "bad.toml:11:14",
     "",
     "[sweep]\nmethod = \"asha\"\nmetric = \"train_loss\"\ntrials = 2\nmin_epochs = 5\n"
     "[sweep.parameters]\n\"optimizer.lr\" = { min = 0.1, max = 0.2 }"},
    {"run classes.toml", "a target is class 9, and the model gives 5 classes", "classes.toml:1:"},
};

const std::string kSweep = kTiny + "[sweep.parameters]\nbatch_size = [4, 8]\n";

const std::string kTooFewOutputs =
    "model = { name = \"linear\", in_features = 64, out_features = 5 }\n"
    "dataset = { name = \"digits\", path = \"digits.csv\" }\ndevice_pool = [\"cpu\"]\n";

const std::string kWithoutFile =
    "model = { name = \"linear\", in_features = 64, out_features = 10 }\n"
    "dataset = { name = \"digits\", path = \"gone.csv\" }\ndevice_pool = [\"cpu\"]\n";

}  // namespace

TEST_CASE("the answers to 40 mistakes of users name the fault, its place and the remedy, and start nothing", "[slow]") {
  CHECK(kMistakes.size() >= 40);
  const Workspace w("tiny.toml", kTiny);
  w.write("sweep.toml", kSweep);
  w.write("classes.toml", kTooFewOutputs);
  w.write("digits.csv", digits_csv(40));
  w.write("text.pth", "no weights at all");
  w.write("nofile.toml", kWithoutFile);
  fs::create_directories(w.folder() / "share");
  w.done({"run", "tiny.toml", "--run-id", "1"});
  for (const UsersMistake& mistake : kMistakes) {
    w.write("bad.toml", kTiny.substr(1) + mistake.file + "\n");
    const Outcome answer = w.refused(words_of(mistake.line), {}, with_program_on_path());
    CHECK(answer.err.starts_with("error: "));
    CHECK(contains(answer.err, mistake.what));
    CHECK(contains(answer.err, mistake.where));
    CHECK(contains(answer.err, mistake.hint));
    CHECK(answer.out.empty());
    CHECK_FALSE(answer.left);
  }
  CHECK(contains(w.run({"list", "--json"}).out, "\"run\": \"tiny/1\""));
  CHECK(Json::parse(w.run({"list", "--json"}).out).at("runs").size() == 1);
}

TEST_CASE("the help of every command fits into 80 columns, has no word of the parser, and gives examples") {
  const Workspace w;
  const auto help_of = [&](Words words) {
    words.push_back("--help");
    const Outcome help = w.done(words, {}, with_program_on_path());
    CHECK(help.err.empty());
    for (const std::string& line : lines_of(help.out)) {
      INFO(line);
      CHECK(line.size() <= 80);
    }
    for (const char* word : {"SUBCOMMAND", "REQUIRED", "Positionals", " in [", "INT:"})
      CHECK_FALSE(contains(help.out, word));
    return help.out;
  };
  const std::string all = help_of({});
  const std::size_t commands = all.find("Commands:\n");
  REQUIRE(commands != std::string::npos);
  int verbs = 0;
  for (const std::string& line : lines_of(all.substr(commands))) {
    if (!line.starts_with("  ") || line[2] == ' ') continue;
    const std::string verb = words_of(line).front();
    INFO(verb);
    CHECK(contains(help_of({verb}), "Examples:\n  ddp-exp " + verb));
    ++verbs;
  }
  CHECK(verbs >= 20);
}

}  // namespace ddp::system_test
