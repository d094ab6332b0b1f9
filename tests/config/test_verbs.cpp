#include <sys/wait.h>

#include <array>
#include <cstdio>

#include "catch.h"
#include "scratch.h"

namespace ddp::config {
namespace {

struct Outcome {
  int exit_code = 0;
  std::string out = {};
};

// Runs the program; `redirection` selects its output.
Outcome run(const std::string& arguments, const std::string& redirection = "2>/dev/null") {
  FILE* pipe = popen(("'" DDP_EXP "' " + arguments + " " + redirection).c_str(), "r");
  REQUIRE(pipe != nullptr);
  Outcome outcome;
  std::array<char, 4096> block;
  while (const std::size_t bytes = fread(block.data(), 1, block.size(), pipe)) outcome.out.append(block.data(), bytes);
  outcome.exit_code = WEXITSTATUS(pclose(pipe));
  return outcome;
}

const std::string kGoodIsOk =
    "good.toml: ok (not checked: whether model, data and loss fit together; `" DDP_EXP " plan` tries one batch)\n";

}  // namespace

TEST_CASE("validate checks every file, valid or not, and exits with 2 if one is invalid") {
  const Scratch scratch;
  scratch.write("bad.toml", kModelAndDataset + "batchsize = 3\n");
  scratch.write("good.toml", kModelAndDataset);
  const Outcome both = run("validate bad.toml good.toml");
  CHECK(both.exit_code == 2);
  CHECK(both.out == kGoodIsOk);
  CHECK(contains(run("validate bad.toml good.toml", "2>&1 >/dev/null").out, "bad.toml:3:1: unknown key \"batchsize\""));
  CHECK(run("validate good.toml").exit_code == 0);
  CHECK(run("validate good.toml --set seed=x").exit_code == 2);
  CHECK(run("validate --set seed=1 --set epochs=2 good.toml").exit_code == 0);
  CHECK(run("validate gone.toml").exit_code == 2);
}

TEST_CASE("validate, models, datasets and schema speak JSON") {
  const Scratch scratch;
  scratch.write("bad.toml", "");
  scratch.write("good.toml", kModelAndDataset);
  const Value report = Value::parse(run("validate --json bad.toml good.toml").out)["files"];
  CHECK(report[0]["ok"] == false);
  CHECK(contains(report[0]["error"].get<std::string>(), "\"model\" is missing"));
  CHECK(report[1] == Value{{"file", "good.toml"},
                           {"ok", true},
                           {"warnings", Value::array()},
                           {"not_checked", {"whether model, data and loss fit together"}}});
  CHECK(contains(run("models").out, "mlp"));
  CHECK(contains(Value::parse(run("datasets --json").out).dump(), "random_pairs"));
  CHECK(Value::parse(run("schema").out)["type"] == "object");
}

TEST_CASE("validate reports files that the experiment names and that do not exist") {
  const Scratch scratch;
  scratch.write("weights.safetensors", std::string("\2\0\0\0\0\0\0\0{}", 10));
  scratch.write("x.toml", "model = \"linear\"\ndataset = { name = \"digits\", path = \"gone.csv.gz\" }\n");
  const std::string missing = run("validate x.toml", "2>&1 >/dev/null").out;
  CHECK(contains(missing, "x.toml:2:"));
  CHECK(contains(missing, "there is no such file: " + (scratch.folder() / "gone.csv.gz").string()));
  CHECK(run("validate x.toml").exit_code == 2);
  scratch.write("good.toml", kModelAndDataset);
  CHECK(run("validate good.toml --set init_from=weights.safetensors").exit_code == 0);
  CHECK(count(run("validate good.toml --set init_from=none.safetensors", "2>&1").out, "there is no such file") == 1);
  // Each trial of a sweep has its own files; a file that several trials name is reported once.
  scratch.write("s.toml",
                "model = \"linear\"\ndataset = \"digits\"\n[sweep.parameters]\n"
                "\"dataset.path\" = [\"one\", \"two\"]\n\"optimizer.lr\" = [0.1, 0.2]\n");
  const std::string swept = run("validate s.toml", "2>&1").out;
  CHECK(count(swept, "there is no such file") == 2);
}

TEST_CASE("validate expands a glob to the files that it matches") {
  const Scratch scratch;
  scratch.write("x-1.npy", "");
  scratch.write("y.npy", "");
  scratch.write("x.toml",
                "model = \"linear\"\nloss = \"mse\"\n[dataset]\nname = \"npy\"\ninputs = \"x-*.npy\"\n"
                "targets = [\"y.npy\"]\n");
  CHECK(run("validate x.toml").exit_code == 0);
  const std::string missing = run("validate x.toml --set 'dataset.inputs=\"z-*.npy\"'", "2>&1").out;
  CHECK(contains(missing, "there is no such file: " + (scratch.folder() / "z-*.npy").string()));
}

TEST_CASE("validate warns of settings that visibly have no effect") {
  const Scratch scratch;
  scratch.write("x.toml", kModelAndDataset +
                              "epochs = 3\n[validation]\nevery = 2\n[loader]\nshuffle = false\nsampler_seed = 7\n");
  const std::string warned = run("validate x.toml", "2>&1").out;
  CHECK(contains(warned, "warning: x.toml:5:9: \"validation.every\" has no effect"));
  CHECK(contains(warned, "\"loader.sampler_seed\" has no effect"));
  CHECK(contains(warned, "x.toml: ok"));
  CHECK(Value::parse(run("validate --json x.toml").out)["files"][0]["warnings"].size() == 2);
  CHECK_FALSE(contains(run("validate x.toml --set validation.split=0.1", "2>&1").out, "validation.every"));
  CHECK(contains(run("validate x.toml --set validation.split=0.1 --set validation.every=4", "2>&1").out,
                 "is more than the epochs"));
}

}  // namespace ddp::config
