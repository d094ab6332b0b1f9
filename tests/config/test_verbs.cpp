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

// The program itself; `redirection` tells what of its output is wanted.
Outcome run(const std::string& arguments, const std::string& redirection = "2>/dev/null") {
  FILE* pipe = popen(("'" DDP_EXP "' " + arguments + " " + redirection).c_str(), "r");
  REQUIRE(pipe != nullptr);
  Outcome outcome;
  std::array<char, 4096> block;
  while (const std::size_t bytes = fread(block.data(), 1, block.size(), pipe)) outcome.out.append(block.data(), bytes);
  outcome.exit_code = WEXITSTATUS(pclose(pipe));
  return outcome;
}

}  // namespace

TEST_CASE("validate checks every file, good or bad, and exits with 2 if one is bad") {
  const Scratch scratch;
  scratch.write("bad.toml", kModelAndDataset + "batchsize = 3\n");
  scratch.write("good.toml", kModelAndDataset);
  const Outcome both = run("validate bad.toml good.toml");
  CHECK(both.exit_code == 2);
  CHECK(both.out == "good.toml: ok\n");
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
  CHECK(report[1] == Value{{"file", "good.toml"}, {"ok", true}});
  CHECK(contains(run("models").out, "mlp"));
  CHECK(contains(Value::parse(run("datasets --json").out).dump(), "random_pairs"));
  CHECK(Value::parse(run("schema").out)["type"] == "object");
}

}  // namespace ddp::config
