#include <algorithm>
#include <map>
#include <set>

#include "catch.h"
#include "sweeps.h"

namespace ddp::system_test {
namespace fs = std::filesystem;
namespace {

const std::string kTpe = kSmall + R"([sweep]
method = "tpe"
trials = 16
seed = 3
[sweep.parameters]
"optimizer.lr" = { min = 1e-5, max = 0.1, scale = "log" }
batch_size     = { min = 4, max = 16, step = 4 }
"optimizer.momentum" = [0.0, 0.5, 0.9]
)";

}  // namespace

TEST_CASE("a tpe sweep that is killed at any moment resumes with the same proposals to the same ranking", "[slow]") {
  const Workspace reference;
  reference.write("s.toml", kTpe);
  reference.done(sweep_arguments({"--jobs", "1"}));
  CHECK(sweep_of(reference).summary().at("completed") == 16);

  const Workspace workspace("s.toml", kTpe);
  const RunFolder sweep = sweep_of(workspace);
  // Each trial has a start and an end: kills before the first proposal from results, and between several proposals.
  for (const std::size_t lines : {5, 22, 23, 28}) {
    const auto process = workspace.start(sweep_arguments({"--jobs", "1"}));
    const auto enough = [&] { return fs::exists(sweep.path() / "journal.jsonl") && journal(sweep).size() >= lines; };
    REQUIRE(wait_until(enough, process->pid()));
    process->kill();
  }
  workspace.done({"resume", "s/one", "--jobs", "1"});
  CHECK(result_of(sweep) == result_of(sweep_of(reference)));
  std::map<int, std::set<std::string>> proposals;
  for (const Json& event : journal(sweep, "started"))
    proposals[event.at("trial")].insert(event.at("parameters").dump());
  CHECK(proposals.size() == 16);
  for (const auto& [trial, values] : proposals) CHECK(values.size() == 1);
}

TEST_CASE("a tpe sweep trains several trials at once, and each proposal uses the results at its start") {
  const Workspace workspace("s.toml", kTpe);
  workspace.done(sweep_arguments({"--jobs", "2", "--set", "sweep.trials=30"}));
  const RunFolder sweep = sweep_of(workspace);
  CHECK(sweep.summary().at("completed") == 30);
  int running = 0;
  int most = 0;
  std::set<int> begun;
  for (const Json& event : journal(sweep)) {
    if (event.at("event") == "started") begun.insert(event.at("trial").get<int>());
    running += event.at("event") == "started" ? 1 : event.at("event") == "finished" ? -1 : 0;
    most = std::max(most, running);
  }
  CHECK(begun.size() == 30);
  CHECK(most == 2);
  // The sweep is complete: its journal says so, and nothing more starts.
  const std::size_t before = journal(sweep).size();
  workspace.done({"resume", "s/one"});
  CHECK(journal(sweep).size() == before);
}

TEST_CASE("plan shows which trials of tpe are decided, and tpe refuses unsupported sweeps") {
  const Workspace workspace("s.toml", kTpe);
  const Outcome plan = workspace.done({"plan", "s.toml", "--json"});
  const Json trials = Json::parse(plan.out).at("trials");
  REQUIRE(trials.size() == 16);
  CHECK(trials[9].at("parameters").size() == 3);
  CHECK(trials[10].at("parameters").empty());
  CHECK(contains(workspace.run({"plan", "s.toml"}).out, "and 6 more"));
  for (const auto& [more, said] : std::vector<std::pair<Words, std::string>>{
           {{"--set", "sweep.parameters.threads=[1, 2]"}, "threads must be known before"},
           {{"--set", "sweep.trials=0"}, "sweep.trials"},
           {{"--set", "sweep.max_epochs=3"}, "max_epochs"},
           {{"--set", "sweep.parameters.batch_size={min=4, max=16, step=0.5}"}, "step must be an integer"},
           {{"--trial", "3"}, "cannot train them separately"}}) {
    workspace.refused(sweep_arguments(more), {said});
  }
  CHECK_FALSE(fs::exists(workspace.results()));
}

}  // namespace ddp::system_test
