#include "catch.h"
#include "looking.h"
#include "tables.h"
#include "words.h"

namespace ddp::system_test {
namespace fs = std::filesystem;
namespace {

// A mistake of users, and parts of the answer: its place, the fault, and the valid value or nearest name.
struct UsersMistake {
  std::string line;  // after "ddp-exp"; words are separated by spaces
  Words parts;
  std::string file = "";  // appended to kTiny in bad.toml
};

const std::vector<UsersMistake> kMistakes = {
    // Commands, arguments and options.
    {"train tiny.toml", {"\"train\"", "run"}},
    {"run tny.toml", {"tny.toml: ", "\"tiny.toml\"?"}},
    {"run gone.toml", {"gone.toml: ", "no such file"}},
    {"run tiny", {"tiny: ", "\"tiny.toml\"?"}},
    {"run share", {"share: ", "directory"}},
    {"run tiny.toml again", {"run: ", "\"again\""}},
    {"run tiny.toml --sett epochs=3", {"run: ", "--sett", "--set"}},
    {"run tiny.toml --max-restarts many", {"run: ", "\"many\""}},
    {"sweep tiny.toml --jobs 0", {"sweep: ", "\"0\""}},
    {"diff tiny", {"diff: ", "RUN"}},
    {"compare tiny", {"two or more runs"}},
    {"sweep sweep.toml --trial 1", {"--trial: ", "sweep"}},
    {"slurm tiny.toml --output gone/job", {"gone/job: ", "folder"}},
    {"schema summary.json", {"\"summary.json\"", "summary"}},
    {"datasets cvs", {"datasets: ", "\"cvs\"", "\"csv\"?"}},
    // Settings.
    {"run tiny.toml --set epochs", {"--set 1: ", "assignment"}},
    {"run tiny.toml --set lr=0.1", {"--set 1: ", "\"lr\"", "\"optimizer.lr\"?"}},
    {"run tiny.toml --set epochs=3 --set optimizer.lr=0,1", {"--set 2: ", "\"optimizer.lr\"", "number"}},
    {"run tiny.toml --set precision=bf16-mixed", {"--set 1: ", "\"precision\"", "\"bf16\"?"}},
    {"run tiny.toml --set device_pool=cpu", {"--set 1: ", "\"device_pool\"", "[\"cpu\", \"cpu\"]"}},
    {"run tiny.toml --set sources=[\"gone.cpp\"]", {"--set 1: ", "no such file"}},
    {"run tiny.toml --name latest", {"--name: ", "\"latest\""}},
    {"run tiny.toml --name größe", {"--name: ", "ASCII letters"}},
    {"run tiny.toml --init-from nothing", {"--init-from: ", "\"nothing\""}},
    {"run tiny.toml --set epochs=3 --set steps=5", {"--set 2: ", "\"epochs\" and \"steps\""}},
    {"sweep sweep.toml --set sweep.parameters.batch_size=8", {"--set 1: ", "\"batch_size\""}},
    {"resume tiny --set model={name=\"mlp\",hidden=[4]}", {"--set 1: ", "does not fit"}},
    {"resume tiny --set name=other --set epochs=2", {"--set 1: ", "name"}},
    // Names of runs and their checkpoints.
    {"resume nothing", {"results: ", "\"nothing\""}},
    {"resume tny", {"results: ", "\"tny\"", "\"tiny\"?"}},
    {"fork tiny", {"results/tiny/1: ", "all steps"}},
    {"report tiny --output page.pdf", {"page.pdf: ", ".html"}},
    {"resume tiny --from 7", {"--from: ", "step 7", "24"}},
    {"export tiny out.onnx", {"out.onnx"}},
    {"sweep tiny.toml", {"tiny.toml: ", "[sweep]"}},
    {"list --where los>0.1", {"\"los\"", "\"loss\"?"}},
    // Experiment files.
    {"run bad.toml", {"bad.toml:7:1: ", "\"batchsize\"", "\"batch_size\"?"}, "batchsize = 3"},
    {"run bad.toml", {"bad.toml:7:8: ", "\"mae\"", "\"l1\"?"}, "loss = \"mae\""},
    {"run bad.toml", {"bad.toml:7:9: ", "TOML", "quotes"}, "name = tiny"},
    {"run nofile.toml", {"nofile.toml:2:", "no such file: ", "relative path"}},
    {"plan bad.toml", {"bad.toml:8:", "\"127.0.0.1:29500\""}, "[distributed]\ninit_method = \"127.0.0.1:29500\""},
    {"run bad.toml", {"bad.toml:7:", ".safetensors"}, "init_from = \"text.pth\""},
    {"sweep bad.toml", {"bad.toml:8:", "\"num_samples\"", "asha"}, "[sweep]\nnum_samples = 3"},
    {"run classes.toml", {"classes.toml:1:", "class 9", "5 classes"}},
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
    const Outcome answer = w.refused(words_of(mistake.line), mistake.parts, with_program_on_path());
    CHECK(answer.err.starts_with("error: "));
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
