#include <sched.h>
#include <unistd.h>
#include <filesystem>
#include <map>
#include <string>

#include "catch.h"
#include "lines.h"
#include "words.h"
#include "workspace.h"

namespace ddp::system_test {
namespace {

// The findings of `doctor --json` by their names.
std::map<std::string, Json> findings(const Outcome& looked) {
  const Json json = Json::parse(looked.out);
  CHECK(json.at("version") == 1);
  CHECK(json.at("broken") == (looked.code == 1));
  std::map<std::string, Json> by_name;
  for (const Json& finding : json.at("findings")) by_name[finding.at("name")] = finding;
  return by_name;
}

}  // namespace

TEST_CASE("doctor says what limits this process, and leaves no file") {
  const Workspace w;
  std::filesystem::create_directory(w.results());
  cpu_set_t before, one;
  REQUIRE(sched_getaffinity(0, sizeof before, &before) == 0);
  CPU_ZERO(&one);
  for (int core = 0; CPU_COUNT(&one) == 0; ++core) {
    if (CPU_ISSET(core, &before)) CPU_SET(core, &one);
  }
  REQUIRE(sched_setaffinity(0, sizeof one, &one) == 0);
  const Outcome looked = w.run({"doctor", "--json"}, {{"SLURM_JOB_ID", "77"}});
  sched_setaffinity(0, sizeof before, &before);
  CHECK(looked.err.empty());
  CHECK_FALSE(looked.left);
  auto found = findings(looked);
  CHECK(found["cores"].at("value") == 1);
  if (sysconf(_SC_NPROCESSORS_ONLN) > 1) CHECK(contains(found["cores"].at("text"), "the affinity allows 1"));
  CHECK(contains(found["LibTorch"].at("text"), "2.11.0"));
  CHECK(contains(found["Slurm"].at("text"), "job 77; "));
  CHECK(contains(found["results"].at("text"), "results on "));
  CHECK(found["space"].at("value") > 0);
  CHECK(std::filesystem::is_empty(w.results()));
}

TEST_CASE("doctor calls a results folder where nothing can be written broken, and ends with 1") {
  const Workspace w;
  const Outcome looked = w.ends(1, {"doctor", "--json", "--results", "/sys"});
  auto found = findings(looked);
  CHECK(found["results"].at("state") == "broken");
  CHECK(contains(found["results"].at("text"), "cannot be written"));
  const Outcome missing = w.run({"doctor", "--results", "not/there"});
  CHECK(contains(missing.out, "not/there, not made yet; " + w.folder().string().substr(0, 5)));
  CHECK_FALSE(std::filesystem::exists(w.folder() / "not"));
}

TEST_CASE("the page of doctor has no line longer than 80 columns in a pipe, and no escape code") {
  const Workspace w;
  const Outcome looked = w.run({"doctor", "--results", std::string(120, 'r') + "/\033[31m"}, {{"COLUMNS", "80"}});
  for (const std::string& line : lines_of(looked.out)) CHECK(line.size() <= 80);
  CHECK(count(looked.out, "\n") > 15);
  CHECK_FALSE(contains(looked.out, "\033"));
}

}  // namespace ddp::system_test
