#include "catch.h"
#include "looking.h"

namespace ddp::system_test {

TEST_CASE("validate refuses an init_method and first weights that run refuses") {
  const Workspace w;
  w.write("text.pth", "no weights at all");
  for (const auto& [line, what] : std::vector<std::pair<std::string, std::string>>{
           {"distributed.init_method = \"127.0.0.1:29500\"", "there is no init_method"},
           {"init_from = \"gone.pth\"", "no such run: \"gone.pth\""},
           {"init_from = \"text.pth\"", "is no .safetensors file: "}}) {
    w.write("bad.toml", kTiny.substr(1) + line + "\n");
    const Outcome answer = w.run({"validate", "bad.toml"});
    INFO(answer.err);
    CHECK(answer.code == 2);
    CHECK(contains(answer.err, what));
    CHECK(contains(answer.err, "bad.toml:7:"));
  }
  w.write("good.toml", kTiny + "init_from = \"a_run\"\n");
  CHECK(w.run({"validate", "good.toml"}).code == 0);
}

TEST_CASE("a grid with a value twice is planned with a warning") {
  const Workspace w;
  w.write("sweep.toml", kTiny + "[sweep.parameters]\nbatch_size = [4, 4]\n");
  const Outcome answer = w.run({"plan", "sweep.toml"});
  CHECK(answer.code == 0);
  CHECK(contains(answer.err, "batch_size has the value 4 twice: the same trial runs twice"));
}

TEST_CASE("commands in hints name the program as it was called") {
  const Workspace w;
  w.write("tiny.toml", kTiny);
  REQUIRE(w.run({"run", "tiny.toml", "--run-id", "1"}).code == 0);
  const auto hint = [&](const std::map<std::string, std::string>& environment) {
    return w.run({"run", "tiny.toml", "--run-id", "1", "--set", "seed=1"}, environment).err +
           w.run({"resume"}, environment).err;
  };
  CHECK(contains(hint(with_program_on_path()), "such as: ddp-exp resume latest"));
  CHECK(contains(hint({}), "such as: " DDP_EXP " resume latest"));
  CHECK(contains(hint({{"DDP_EXP_CALLED_AS", "scripts/ddp-exp"}}), "such as: scripts/ddp-exp resume latest"));
  CHECK(contains(hint({{"DDP_EXP_CALLED_AS", "/my own/ddp-exp"}}), "such as: '/my own/ddp-exp' resume latest"));
}

TEST_CASE("an empty name, run id or results folder is refused, not taken as none") {
  const Workspace w;
  w.write("tiny.toml", kTiny);
  const Outcome answer = w.run({"run", "tiny.toml", "--name", ""});
  CHECK(answer.code == 2);
  CHECK(contains(answer.err, "\"\" cannot be the name of an experiment"));
  const Outcome id = w.run({"run", "tiny.toml", "--run-id", ""});
  CHECK(id.code == 2);
  CHECK(contains(id.err, "--run-id: \"\" cannot be a run id\n  leave --run-id out"));
  for (const std::vector<std::string>& line :
       {std::vector<std::string>{"run", "tiny.toml"}, {"plan", "tiny.toml"}, {"list"}}) {
    std::vector<std::string> words = line;
    words.insert(words.end(), {"--results", ""});
    const Outcome results = w.run(words);
    INFO(line.front() << "\n" << results.err);
    CHECK(results.code == 2);
    CHECK(contains(results.err, "--results: \"\" cannot be a results folder\n  leave --results out"));
  }
}

TEST_CASE("a setting without a value does not take the file behind it") {
  const Workspace w;
  w.write("tiny.toml", kTiny);
  CHECK(contains(w.run({"run", "--set", "epochs=", "tiny.toml"}).err, "--set 1: the value is missing"));
  CHECK(contains(w.run({"run", "--set", "epochs", "tiny.toml"}).err, "--set 1: not an assignment"));
  CHECK(w.run({"validate", "--set", " epochs = 5 ", "--set", "device_pool=[ \"cpu\" ]", "tiny.toml"}).code == 0);
}

}  // namespace ddp::system_test
