// list, show, compare and diff over real runs.
#include <sys/wait.h>
#include <algorithm>
#include <cstdlib>
#include <ctime>
#include <filesystem>
#include <fstream>

#include "looking.h"

namespace ddp::system_test {
namespace fs = std::filesystem;
namespace {

std::string zulu(std::time_t moment) {
  char text[32];
  std::tm utc{};
  gmtime_r(&moment, &utc);
  return {text, std::strftime(text, sizeof text, "%Y-%m-%dT%H:%M:%SZ", &utc)};
}

}  // namespace

TEST_CASE("a summary has the start and the end of its run, and a resume keeps the start") {
  const Workspace w("tiny.toml", kTiny);
  const std::time_t before = std::time(nullptr);
  const Outcome run = w.done({"run", "tiny.toml"});
  Json summary = run.run.summary();
  CHECK(summary.at("started") >= zulu(before));
  CHECK(summary.at("ended") >= summary.at("started"));
  CHECK(summary.at("ended") <= zulu(std::time(nullptr)));
  // As if the run had begun long ago.
  summary["started"] = "2020-01-01T00:00:00Z";
  std::ofstream(run.run.path() / "summary.json") << summary.dump();
  w.done({"resume", "tiny", "--set", "epochs=4"});
  CHECK(run.run.summary().at("started") == "2020-01-01T00:00:00Z");
  CHECK(run.run.summary().at("ended") >= zulu(before));
}

TEST_CASE("list shows each run with its result, the newest first or in the requested order") {
  const Runs r;
  const auto lines = lines_of(r.look({"list"}));
  REQUIRE(lines.size() == 4);
  CHECK(lines[0].starts_with("run      status     epochs  train_loss"));
  CHECK(std::count_if(lines.begin(), lines.end(), [](const auto& l) { return contains(l, "completed"); }) == 2);
  CHECK(std::count_if(lines.begin(), lines.end(), [](const auto& l) { return contains(l, "█"); }) >= 2);
  const Json all = r.look_json({"list"});
  REQUIRE(all.at("runs").size() == 3);
  for (std::size_t i = 1; i < 3; ++i) CHECK(all["runs"][i - 1].at("started") >= all["runs"][i].at("started"));
  CHECK(r.look_json({"list", "--status", "failed"})["runs"][0]["run"] == "burst/1");
  CHECK(r.look_json({"list", "--name", "t*", "--limit", "1"})["runs"].size() == 1);
  const Json by_rate = r.look_json({"list", "tiny", "--sort", "-optimizer.lr"});
  CHECK(by_rate["runs"][0]["run"] == "tiny/2");
  CHECK(by_rate["runs"][1]["run"] == "tiny/1");
  const Json low = r.look_json({"list", "--where", "optimizer.lr<0.01", "--where", "epochs=3", "tiny"});
  REQUIRE(low["runs"].size() == 1);
  CHECK(r.look_json({"list", "--where", "optimizer.lr<0.01 and epochs=3", "tiny"}) == low);
  CHECK(r.look_json({"list", "--where", "optimizer.lr<0.01 and epochs>3", "tiny"})["runs"].empty());
  const Json summary = RunFolder(r.w.results() / "tiny/1").summary();
  CHECK(low["runs"][0]["final"] == summary["final"]);
  CHECK(low["runs"][0]["best"] == summary["best"]);
  CHECK(low["runs"][0]["git"] == summary["git"]);
}

TEST_CASE("an empty list is reported on stderr and is not a failure, and a mistyped argument is refused") {
  const Runs r;
  for (const auto& arguments : std::vector<Words>{
           {"list", "--results", "none"}, {"list", "--status", "running"}, {"list", "--where", "train_loss<0"}}) {
    const Outcome nothing = r.w.done(arguments);
    CHECK(nothing.out.empty());
    CHECK(lines_of(nothing.err).size() == 1);
  }
  const std::string folder = (r.w.folder() / "none").string();
  CHECK(contains(r.w.run({"list", "--results", "none"}).err,
                 "there is no folder " + folder + "; --results FOLDER names"));
  CHECK(r.look_json({"list", "--where", "train_loss<0"})["runs"].empty());
  std::filesystem::create_directory(r.w.folder() / "empty");
  for (const auto& [arguments, said] : std::vector<std::pair<Words, std::string>>{
           {{"list", "--where", "optimzer.lr<1"}, "did you mean \"optimizer.lr\"?"},
           {{"list", "--limit", "-1"}, "--limit"},
           {{"list", "--sort", ""}, "key"},
           {{"list", "nothing"}, "no such run"},
           {{"list", "empty"}, "no such run"},
           {{"show", "nothing"}, "no such run"},
           {{"compare", "tiny/1"}, "two or more runs"},
           {{"diff", "tiny/1", "nothing"}, "no such run"},
           {{"diff", "tiny/1"}, "needs 2 values of RUN, not 1"}}) {
    r.w.refused(arguments, {said});
  }
}

TEST_CASE("list and show of a name without runs name the names that have some") {
  const Runs r;
  fs::remove_all(r.w.results() / "burst" / "1");
  for (const char* verb : {"list", "show", "resume"}) {
    r.w.refused({verb, "burst"}, {"no such run: \"burst\"\n  names there: tiny"});
  }
  fs::remove(r.w.results() / "tiny" / "2" / "config.toml");
  r.w.write("results/tiny/1/summary.json", "no JSON");
  fs::remove(r.w.results() / "tiny" / "latest");
  const Outcome unreadable = r.w.done({"list", "tiny"}, {"no run to list; `" DDP_EXP " list` lists all"});
  CHECK_FALSE(contains(unreadable.err, "has no runs"));
}

TEST_CASE("a run has the same name for every form of the results folder") {
  const Runs r;
  const std::string absolute = r.w.results().string();
  for (const std::string& results : {std::string("results"), std::string("./results/"), absolute, absolute + "/"}) {
    INFO(results);
    for (const char* name : {"burst", "burst/1", "results/burst/1"}) {
      CHECK(r.look_json({"show", name, "--results", results})["run"] == "burst/1");
    }
    CHECK(r.look_json({"list", "burst", "--results", results})["runs"][0]["run"] == "burst/1");
  }
}

TEST_CASE("show prints the result of a run and the places of its files") {
  const Runs r;
  const std::string done = r.look({"show", "tiny/1"});
  const RunFolder folder(r.w.results() / "tiny/1");
  for (const char* part :
       {"status      completed\n", "trained     3 epochs, 24 steps in ", "train_loss  ",
        "ranks       1 over shm: cpu\n", "results/tiny/1/checkpoints/step-00000024  (latest, best)\n",
        "results/tiny/1/logs/rank-0.log\n", "libtorch 2.11.0"}) {
    INFO(part << "\n" << done);
    CHECK(contains(done, part));
  }
  CHECK_FALSE(contains(done, "ddp-exp resume"));
  const std::string failed = r.look({"show", "burst"});
  INFO(failed);
  CHECK(contains(failed, "status    failed\n"));
  CHECK(contains(failed, "error     rank 0: the loss of step "));
  CHECK(contains(failed, "resume    " DDP_EXP " resume results/burst/1 --set optimizer.lr=…\n"));
  r.w.done({"resume", "tiny/1", "--set", "epochs=5"});
  CHECK(contains(r.look({"show", "tiny/1"}), "resumed     after step 24, epochs 5 for 3\n"));
  const Json json = r.look_json({"show", "tiny/1"});
  CHECK(json["steps"] == 40);
  CHECK(json["history"] == Json::parse(R"([{"event":"resume","step":24,"changes":{"epochs":[3,5]}}])"));
  CHECK(json["checkpoints"][0]["directory"] == "results/tiny/1/checkpoints/step-00000040");
}

TEST_CASE("compare and diff print only the differences") {
  const Runs r;
  const std::string compared = r.look({"compare", "tiny/1", "tiny/2", "burst"});
  INFO(compared);
  CHECK(contains(compared, "A  tiny/1   completed\nB  tiny/2   completed\nC  burst/1  failed\n"));
  CHECK(contains(compared, "  optimizer.lr  0.001  0.1  1e+30\n"));
  CHECK_FALSE(contains(compared, "batch_size"));
  CHECK(contains(compared, "\nmetrics\n"));
  CHECK(contains(compared, "\nloss\n"));
  const std::string differ = r.look({"diff", "tiny/1", "tiny/2"});
  INFO(differ);
  CHECK(contains(differ, "  optimizer.lr  0.001  0.1\n"));
  CHECK(contains(differ, "B - A"));
  CHECK_FALSE(contains(differ, "epochs"));
  const std::string same = r.look({"diff", "tiny/1", "tiny/1"});
  CHECK(contains(same, "the configurations are the same\n"));
  CHECK(contains(same, "the metrics are the same\n"));
  CHECK(r.look_json({"diff", "tiny/1", "tiny/2"})["config"] == Json::parse(R"({"optimizer.lr":[0.001,0.1]})"));
  CHECK(r.look_json({"compare", "tiny/1", "tiny/2"})["runs"][1]["run"] == "tiny/2");
  const Outcome plain = r.w.run({"compare", "tiny/1", "tiny/2"}, {{"LC_ALL", "C"}});
  CHECK(std::all_of(plain.out.begin(), plain.out.end(), [](unsigned char byte) { return byte < 0x80; }));
}

TEST_CASE("output that cannot be written is an error, except on a closed stdout") {
  const std::string program = DDP_EXP;
  CHECK(WEXITSTATUS(std::system((program + " models --json > /dev/full 2> /dev/null").c_str())) == 1);
  CHECK(WEXITSTATUS(std::system((program + " models --json > /dev/null").c_str())) == 0);
  CHECK(WEXITSTATUS(std::system((program + " models --json >&- 2> /dev/null").c_str())) == 0);
}

}  // namespace ddp::system_test
