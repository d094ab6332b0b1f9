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
};

const std::vector<LauncherMistake> kMistakes = {
    {{{"MASTER_ADDR", ""}}, "MASTER_ADDR is not set"},
    {{{"MASTER_PORT", ""}}, "MASTER_PORT is not set"},
    {{{"MASTER_PORT", "99999"}}, "MASTER_PORT is \"99999\", and ports count from 1 to 65535"},
    {{{"MASTER_PORT", "29500x"}}, "MASTER_PORT is \"29500x\""},
    {{{"MASTER_PORT", "0"}}, "MASTER_PORT is \"0\""},
    {{{"MASTER_ADDR", "127.0.0.1:29500"}}, "127.0.0.1:29500: cannot find this host"},
    {{{"RANK", "2"}}, "RANK is 2, and WORLD_SIZE is 2"},
    {{{"RANK", "x"}}, "RANK: is \"x\", not a count"},
    {{{"WORLD_SIZE", "0"}}, "WORLD_SIZE is 0"},
    {{{"LOCAL_WORLD_SIZE", "4"}}, "LOCAL_WORLD_SIZE is 4, and WORLD_SIZE is 2"},
    {{{"LOCAL_WORLD_SIZE", "1"}}, "the launcher starts 1 on a machine"},
    {{{"RANK", "1"}, {"LOCAL_RANK", "1"}, {"LOCAL_WORLD_SIZE", ""}}, "LOCAL_WORLD_SIZE"},
};

}  // namespace

TEST_CASE("a wrong variable of a launcher is named, and nothing is started") {
  const Workspace w("small.toml", kSmall);
  for (const LauncherMistake& mistake : kMistakes) {
    Variables all{{"RANK", "0"},
                  {"WORLD_SIZE", "2"},
                  {"LOCAL_WORLD_SIZE", "2"},
                  {"MASTER_ADDR", "127.0.0.1"},
                  {"MASTER_PORT", "29500"}};
    for (const auto& [name, value] : mistake.variables) all[name] = value;
    w.refused({"run", "small.toml"}, {mistake.what}, all);
    CHECK_FALSE(fs::exists(w.results()));
  }
}

TEST_CASE("a process that trains alone beside other processes or nodes is told so") {
  const Workspace w("small.toml", kSmall);
  const auto warned = [&](const Variables& variables, const Words& texts) {
    const Outcome answer = w.done({"run", "small.toml", "--dry-run"}, {}, variables);
    for (const std::string& text : texts) CHECK(contains(answer.err, text));
    CHECK(contains(answer.err, "warning: ") == !texts.empty());
  };
  warned({{"OMPI_COMM_WORLD_SIZE", "2"}}, {"OMPI_COMM_WORLD_SIZE is 2, and RANK is not set"});
  warned({{"SLURM_JOB_ID", "7"}, {"SLURM_NNODES", "2"}, {"SLURM_NTASKS", "2"}},
         {"this Slurm job has 2 nodes, and this process trains on one", "ddp-exp slurm"});
  warned({{"OMPI_COMM_WORLD_SIZE", "1"}}, {});
  warned({{"SLURM_JOB_ID", "7"}, {"SLURM_NNODES", "1"}, {"SLURM_NTASKS", "1"}}, {});
  warned({{"SLURM_JOB_ID", "7"}, {"SLURM_NNODES", "1"}, {"SLURM_NTASKS", "4"}}, {});
  warned({{"SLURM_JOB_ID", "7"}, {"SLURM_NNODES", "2"}, {"SLURM_STEP_ID", "0"}, {"SLURM_STEP_NUM_TASKS", "1"}}, {});
}

}  // namespace ddp::system_test
