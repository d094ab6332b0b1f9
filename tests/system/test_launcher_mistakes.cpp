// Mistakes in the variables of a launcher, or of a user who starts ranks by hand.
#include <filesystem>

#include "catch.h"
#include "looking.h"
#include "workspace.h"

namespace ddp::system_test {
namespace fs = std::filesystem;
namespace {

using Variables = std::map<std::string, std::string>;

struct LauncherMistake {
  Variables variables;
  std::string what;
  std::string remedy;
};

const std::vector<LauncherMistake> kMistakes = {
    {{{"MASTER_ADDR", ""}}, "MASTER_ADDR is not set", "set MASTER_ADDR and MASTER_PORT"},
    {{{"MASTER_PORT", ""}}, "MASTER_PORT is not set", "the same for all ranks: 29500"},
    {{{"MASTER_PORT", "99999"}}, "MASTER_PORT is 99999, and ports count from 1 to 65535", "a free port"},
    {{{"MASTER_PORT", "0"}}, "MASTER_PORT is 0, and ports count from 1 to 65535", "a free port"},
    {{{"MASTER_ADDR", "127.0.0.1:29500"}},
     "MASTER_ADDR is \"127.0.0.1:29500\": it has a port",
     "MASTER_ADDR=127.0.0.1 MASTER_PORT=29500"},
    {{{"RANK", "2"}}, "RANK is 2, and WORLD_SIZE is 2", "the last one is 1"},
    {{{"RANK", "x"}}, "RANK: is \"x\", not a count", "unset RANK and WORLD_SIZE"},
    {{{"LOCAL_WORLD_SIZE", "1"}}, "the launcher starts 1 on a machine", "use the same number"},
};

}  // namespace

TEST_CASE("a wrong variable of a launcher is named with its remedy, and nothing is started") {
  const Workspace w;
  w.write("small.toml", kSmall);
  for (const LauncherMistake& mistake : kMistakes) {
    Variables all{{"RANK", "0"},
                  {"WORLD_SIZE", "2"},
                  {"LOCAL_WORLD_SIZE", "2"},
                  {"MASTER_ADDR", "127.0.0.1"},
                  {"MASTER_PORT", "29500"}};
    for (const auto& [name, value] : mistake.variables) all[name] = value;
    const Outcome answer = w.run({"run", "small.toml"}, all);
    INFO(mistake.what << "\n" << answer.err);
    CHECK(answer.code == 2);
    CHECK(contains(answer.err, mistake.what));
    CHECK(contains(answer.err, mistake.remedy));
    CHECK_FALSE(fs::exists(w.results()));
  }
}

}  // namespace ddp::system_test
