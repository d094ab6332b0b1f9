// run --profile: traces and a table of some steps.
#include <sys/resource.h>
#include <iterator>
#include <regex>

#include "catch.h"
#include "experiments.h"
#include "run_folder.h"
#include "workspace.h"

namespace ddp::system_test {
namespace fs = std::filesystem;
namespace {

// How many events of each name a trace holds.
std::map<std::string, int> names_of(const fs::path& trace) {
  std::map<std::string, int> names;
  const Json whole = json_of(trace);
  for (const Json& event : whole.at("traceEvents")) ++names[event.value("name", "")];
  return names;
}

}  // namespace

TEST_CASE("run --profile writes a trace of each rank and a table, and changes no bit") {
  const Workspace w("small.toml", kSmall);
  const RunFolder plain = w.done({"run", "small.toml"}).run;
  const Outcome profiled = w.done({"run", "small.toml", "--profile", "5", "--results", "back\\slash"},
                                  {"Profile of steps 16 to 20", "a step took"});
  check_same(profiled.run, plain);
  for (const char* rank : {"rank-0.json", "rank-1.json"}) {
    const auto names = names_of(profiled.run.path() / "profile" / rank);
    for (const char* phase : {"loading data", "forward", "optimizer step"}) CHECK(names.at(phase) == 5);
    CHECK(names.at("aten::addmm") >= 5);  // of replayed steps too
  }
  const std::string table = text_of(profiled.run.path() / "profile" / "table.txt");
  CHECK(contains(profiled.err, table));
  CHECK(std::regex_search(table, std::regex("\nrank 0( +[0-9.]+){6}\nrank 1( +[0-9.]+){6}\n")));
  CHECK(std::regex_search(table, std::regex("\naddmm +[0-9.]+ +[0-9.]+ +[0-9]+ % +[0-9.]+ +[0-9]+ %\n")));
}

TEST_CASE("a profile is of the steps that there are, and a stop cuts it short") {
  const Workspace w("small.toml", kSmall);
  w.done({"run", "small.toml", "--profile", "100", "--set", "epochs=1"}, {"Profile of steps 1 to 7;"});
  const auto process = w.start({"run", "small.toml", "--profile", "100000000", "--set", "epochs=100000000"});
  const RunFolder run = w.running(*process, "small", 20);
  process->signal(SIGINT);
  const Outcome stopped = w.finish(*process);
  CHECK(stopped.code == 130);
  CHECK(contains(stopped.err, "to " + std::to_string(run.last_step()) + ";"));
  CHECK(fs::exists(run.path() / "profile" / "rank-1.json"));
}

TEST_CASE("a trace that cannot be written ends no run, and leaves nothing") {
  const Workspace w("small.toml", kSmall);
  rlimit whole{};
  getrlimit(RLIMIT_FSIZE, &whole);
  const rlimit little{.rlim_cur = 40'000, .rlim_max = whole.rlim_max};
  setrlimit(RLIMIT_FSIZE, &little);
  const auto process = w.start({"run", "small.toml", "--profile", "10"});
  setrlimit(RLIMIT_FSIZE, &whole);
  const Outcome run = w.ends(0, *process, {"warning: the trace was not written: ", "Profile of steps 19 to 28"});
  const fs::path profile = run.run.path() / "profile";
  CHECK(std::distance(fs::directory_iterator(profile), fs::directory_iterator()) == 1);
  CHECK(fs::exists(profile / "table.txt"));
}

}  // namespace ddp::system_test
