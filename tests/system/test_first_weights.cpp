#include <cstring>

#include "catch.h"
#include "finished_run.h"
#include "long_run.h"
#include "looking.h"

namespace ddp::system_test {
namespace fs = std::filesystem;
namespace {

void check_not_started(const Workspace& w, const Words& sets, const Words& words) {
  for (const std::string verb : {"plan", "run"}) {
    Words arguments{verb, "small.toml", "--name", "refused"};
    if (verb == "plan") arguments.resize(2);
    for (const auto& set : sets) arguments.insert(arguments.end(), {"--set", set});
    const Outcome refused = w.refused(arguments, {});
    for (const std::string& word : words) CHECK(contains(refused.err, word));
  }
  CHECK_FALSE(fs::exists(w.results() / "refused"));
}

}  // namespace

TEST_CASE("a run begins with the weights of another run's latest checkpoint, and its config.toml names them") {
  const FinishedRun small(kSmall, {"epochs=2"});
  const Workspace& w = small.workspace;
  w.write("given.safetensors", small.model);
  const Outcome of_file = w.done({"run", "small.toml", "--name", "file", "--init-from", "given.safetensors"});
  fs::create_directory(w.folder() / "small");  // a folder with this name is not a run
  for (const std::string& origin : {std::string("small"), small.run.path().string()}) {
    const Outcome of_run = w.done({"run", "small.toml", "--name", "run", "--init-from", origin});
    check_same(of_run.run, of_file.run);
    CHECK(contains(text_of(of_run.run.path() / "config.toml"), "checkpoints/step-"));
  }
  w.refused({"run", "small.toml", "--name", "refused", "--init-from", "nobody"}, {"nobody"});
}

TEST_CASE("weights are read from a .safetensors file whose length of header looks like a file of torch.save") {
  const FinishedRun small(kSmall, {"epochs=1"});
  constexpr std::size_t kLength = 640;  // its first bytes, 0x80 0x02, begin a pickle
  std::uint64_t length = 0;
  std::memcpy(&length, small.model.data(), sizeof length);
  REQUIRE(length < kLength);
  const std::string begin({'\x80', '\x02', 0, 0, 0, 0, 0, 0});
  const std::string header = small.model.substr(sizeof length, length) + std::string(kLength - length, ' ');
  small.workspace.write("given.safetensors", begin + header + small.model.substr(sizeof length + length));
  small.workspace.done({"run", "small.toml", "--name", "next", "--init-from", "given.safetensors"});
}

TEST_CASE("a link to the latest run or checkpoint names the weights that it leads to as the command begins") {
  const FinishedRun small(kSmall, {"epochs=1"});
  const Workspace& w = small.workspace;
  const std::string saved =
      "\"" + fs::canonical(small.run.path() / "checkpoints" / "latest").string() + "/model.safetensors\"";
  for (const std::string link :
       {"latest", "latest/checkpoints/latest", "latest/checkpoints/latest/model.safetensors"}) {
    const Outcome next = w.done({"run", "small.toml", "--name", "small", "--init-from", "results/small/" + link});
    CHECK(contains(text_of(next.run.path() / "config.toml"), saved));
    fs::remove(w.results() / "small" / "latest");
    fs::create_directory_symlink(small.run.path().filename(), w.results() / "small" / "latest");
  }
}

TEST_CASE("a run that resumes without a checkpoint begins with the weights of the run that --set init_from names") {
  const FinishedRun small(kSmall, {"epochs=2"});
  const Workspace& w = small.workspace;
  const Outcome begun = w.done({"run", "small.toml", "--name", "begun", "--set", "epochs=1"});
  fs::remove_all(begun.run.path() / "checkpoints");
  fs::create_directory(begun.run.path() / "checkpoints");
  // As a run that was killed before its first save: a completed run without checkpoints is refused.
  fs::remove(begun.run.path() / "summary.json");
  const Outcome resumed = w.done({"resume", "begun", "--set", "init_from=\"small\""});
  const Outcome whole = w.done({"run", "small.toml", "--name", "whole", "--set", "epochs=1", "--init-from", "small"});
  CHECK(resumed.run.model() == whole.run.model());
  w.done({"resume", "begun", "--from", "latest", "--set", "init_from=\"nobody\"", "--set",
          "epochs=9"});  // it has a checkpoint now and needs no first weights
}

TEST_CASE("weights with other names and shapes are renamed and skipped, and all that does not fit is one error") {
  const FinishedRun small(kSmall, {"epochs=1"});
  const Workspace& w = small.workspace;
  w.write("given.safetensors", small.model);
  const std::string wider = "model.out_features=3";
  const std::string wider_data = "dataset.targets=3";
  check_not_started(w, {wider, wider_data, "init_from=\"given.safetensors\""},
                    {"differs: \"3.weight\" is Float[2, 8], in the model Float[3, 8]", "differs: \"3.bias\""});
  check_not_started(w, {"init_from={path=\"given.safetensors\", rename={\"0.\"=\"first.\"}, skip=[\"9.*\"]}"},
                    {"left over: \"0.weight\" (\"first.weight\")", "left over: \"0.bias\"", "missing: \"0.weight\"",
                     "missing: \"0.bias\"", "skip matches nothing: \"9.*\""});
  w.done({"run", "small.toml", "--name", "fitted", "--set", wider, "--set", wider_data, "--set",
          "init_from={path=\"given.safetensors\", skip=[\"3.*\"]}", "--set", "freeze=[\"0.*\"]"});
  // In the order of the file: both prefixes apply to the original names.
  const Outcome there_and_back =
      w.done({"run", "small.toml", "--name", "renamed", "--set",
              "init_from={path=\"given.safetensors\", rename={\"0.\"=\"x.\", \"x.\"=\"0.\"}}"});
  const Outcome plain = w.run({"run", "small.toml", "--name", "plain", "--init-from", "given.safetensors"});
  CHECK(there_and_back.run.model() == plain.run.model());
}

TEST_CASE("plan and show count frozen parameters, and patterns that freeze nothing or all are refused") {
  const Workspace w("small.toml", kSmall);
  const Words freeze{"--set", "freeze=[\"0.*\"]"};
  const Outcome plan = w.run({"plan", "small.toml", freeze[0], freeze[1]});
  INFO(plan.err);
  CHECK(contains(plan.out, "74 parameters"));
  CHECK(contains(plan.out, "56 of them frozen"));
  const Outcome run = w.done({"run", "small.toml", freeze[0], freeze[1]});
  CHECK(run.run.summary().at("frozen_parameters") == 56);
  CHECK(contains(w.run({"show", "small"}).out, "74, 56 of them frozen"));
  check_not_started(w, {"freeze=[\"0.*\", \"layer1.*\", \"x\"]"}, {"\"layer1.*\", \"x\"", "such as \"0.weight\""});
  check_not_started(w, {"freeze=[\"*\"]"}, {"freezes every parameter"});
}

TEST_CASE("a killed run with frozen parameters resumes to the bits of an uninterrupted run") {
  LongRun run({"--set", "freeze=[\"0.*\"]"});
  run.process().kill();
  run.check_resumes_to_the_same_bits();
}

TEST_CASE("a run resumes with other parameters frozen") {
  const FinishedRun small(kSmall, {"epochs=2", "freeze=[\"0.*\"]"});
  const Workspace& w = small.workspace;
  for (const std::string freeze : {"freeze=[]", "freeze=[\"3.*\"]"}) {
    const Outcome fork = w.done({"fork", "small", "--name", "thawed", "--set", "epochs=3", "--set", freeze});
    CHECK(fork.run.model() != small.model);
  }
}

TEST_CASE("validate refuses an init_method and first weights that run refuses") {
  const Workspace w("text.pth", "no weights at all");
  for (const auto& [line, what] : std::vector<std::pair<std::string, std::string>>{
           {"distributed.init_method = \"127.0.0.1:29500\"", "there is no init_method"},
           {"init_from = \"gone.pth\"", "no such run: \"gone.pth\""},
           {"init_from = \"text.pth\"", "is no .safetensors file: "}}) {
    w.write("bad.toml", kTiny.substr(1) + line + "\n");
    w.refused({"validate", "bad.toml"}, {what, "bad.toml:7:"});
  }
  w.write("good.toml", kTiny + "init_from = \"a_run\"\n");
  w.done({"validate", "good.toml"});
}

}  // namespace ddp::system_test
