// Wrong command lines: exit code 2, nothing printed on stdout, nothing started; the nearest name.
#include <filesystem>

#include "catch.h"
#include "looking.h"
#include "workspace.h"

namespace ddp::system_test {
namespace fs = std::filesystem;
namespace {

struct WrongLine {
  std::string line;  // after "ddp-exp"; words are separated by spaces
  std::string what;
  std::string hint = "";
};

const std::vector<WrongLine> kWrongLines = {
    {"", "the command is missing", "commands: run, "},
    {"resmue tiny", "unknown command \"resmue\"", "did you mean \"resume\"?"},
    {"train tiny.toml", "unknown command \"train\"", "did you mean \"run\"?"},
    {"ls", "unknown command \"ls\"", "did you mean \"list\"?"},
    {"tune tiny.toml", "unknown command \"tune\"", "did you mean \"sweep\"?"},
    {"tiny.toml", "unknown command \"tiny.toml\"", "run tiny.toml"},
    {"--name other run tiny.toml", "the command is missing before \"--name\""},
    {"--vresion", "there is no option \"--vresion\"", "did you mean \"--version\"?"},
    {"run tiny.toml --nmae other", "there is no option \"--nmae\"", "did you mean \"--name\"?"},
    {"run tiny.toml --gpus 2", "there is no option \"--gpus\"", "did you mean \"--nproc-per-node\"?"},
    {"run tiny.toml --epochs 2", "there is no option \"--epochs\"", "did you mean \"--set epochs=…\"?"},
    {"run tiny.toml --learning-rate=0.1", "there is no option \"--learning-rate\"", "\"--set optimizer.lr=…\"?"},
    {"cv tiny.toml", "the file has neither [folds] nor [repeat]", "folds.k = 5, or repeat.seeds = 5"},
    {"run tiny.toml --jobs 2", "there is no option \"--jobs\"",
     "it is an option of `resume`, `sweep`, `cv`, `race`, `plan`"},
    {"show tiny --max-restarts 2", "there is no option", "it is an option of `run`, `resume`, `fork`"},
    {"run", "FILE is missing", "usage: "},
    {"run .", "it is a directory"},
    {"run tiny.toml --results tiny.toml", "tiny.toml"},
    {"run tiny.toml --set", "--set"},
    {"resume", "RUN is missing"},
    {"resume latest", "no runs yet"},
    {"run tiny.toml epochs=2", "\"epochs=2\" is one word too many", "--set KEY=VALUE"},
    {"run tiny.toml --set epochs = 2", "\"=\" is one word too many"},
    {"resume --set epochs= 5", "no such run: \"5\""},
    {"run tiny.toml --name a --run-id 1 --name b", "--name is given 2 times", "give it once"},
    {"list --limit 0", "--limit takes an integer from 1 to 1000000000, not \"0\""},
    {"list --limit many", "--limit takes an integer from 1 to 1000000000, not \"many\""},
    {"run tiny.toml --dry-run=maybe", "--dry-run"},
    {"run tiny.toml -q -v", "excludes"},
    {"schema sumary", "unknown schema \"sumary\"", "did you mean \"summary\"?"},
};

}  // namespace

TEST_CASE("a wrong command line is refused with what is wrong and the nearest name, and nothing is started") {
  const Workspace w("tiny.toml", kTiny + "[sweep.parameters]\nseed = [1, 2]\n");
  for (const auto& [line, what, hint] : kWrongLines) {
    w.refused(words_of(line), {what, hint}, with_program_on_path());
  }
  CHECK_FALSE(fs::exists(w.results()));
}

TEST_CASE("a setting without a value does not take the file behind it") {
  const Workspace w("tiny.toml", kTiny);
  CHECK(contains(w.run({"run", "--set", "epochs=", "tiny.toml"}).err, "--set 1: the value is missing"));
  CHECK(contains(w.run({"run", "--set", "epochs", "tiny.toml"}).err, "--set 1: not an assignment"));
  w.done({"validate", "--set", " epochs = 5 ", "--set", "device_pool=[ \"cpu\" ]", "tiny.toml"});
}

TEST_CASE("commands in hints name the program as it was called") {
  const Workspace w("tiny.toml", kTiny);
  const auto hint = [&](const Environment& environment) { return w.run({"resume"}, environment).err; };
  CHECK(contains(hint(with_program_on_path()), "such as: ddp-exp resume latest"));
  CHECK(contains(hint({}), "such as: " DDP_EXP " resume latest"));
  CHECK(contains(hint({{"DDP_EXP_CALLED_AS", "scripts/ddp-exp"}}), "such as: scripts/ddp-exp resume latest"));
  CHECK(contains(hint({{"DDP_EXP_CALLED_AS", "/my own/ddp-exp"}}), "such as: '/my own/ddp-exp' resume latest"));
}

TEST_CASE("an empty name, run id or results folder is refused, not taken as none") {
  const Workspace w("tiny.toml", kTiny);
  for (const auto& [option, what] :
       std::vector<std::pair<std::string, std::string>>{{"--name", "\"\" cannot be the name of an experiment"},
                                                        {"--run-id", "\"\" cannot be a run id"},
                                                        {"--results", "\"\" cannot be a results folder"}}) {
    w.refused({"run", "tiny.toml", option, ""}, {option + ": " + what});
  }
}

}  // namespace ddp::system_test
