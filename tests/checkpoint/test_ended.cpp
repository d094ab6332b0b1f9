#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>

#include <nlohmann/json.hpp>

#include "catch.h"
#include "record/file/input_file.h"
#include "record/saves/checkpoint_index.h"
#include "record/saves/checkpoint_settings.h"
#include "scratch_folder.h"
#include "words.h"

namespace ddp::checkpoint {
namespace fs = std::filesystem;
TEST_CASE("a run that a rule of another version ended before its last step stays ended") {
  const ScratchFolder scratch;
  const fs::path root = scratch.folder();
  const auto run = [&](const std::string& words) {
    return std::system(("cd " + root.string() + " && " + DDP_EXP + " " + words + " >out 2>log").c_str());
  };
  std::ofstream(root / "x.toml") << "model = \"toy\"\ndataset = \"random_batch\"\ndevice_pool = [\"cpu\"]\nsteps = 2\n";
  REQUIRE(run("run x.toml --run-id a") == 0);
  const fs::path folder = record::latest_checkpoint(root / "results/x/a/checkpoints");
  CHECK(record::position_of(folder).ended_by == record::kAllSteps);

  auto state = nlohmann::ordered_json::parse(content_of(folder / "state.json"));
  state["ended_by"] = "judgement";
  std::ofstream(folder / "state.json") << state.dump(1) + "\n";
  std::ofstream(folder / "COMPLETE") << record::hash_hex(content_of(folder / "state.json")) + "\n";
  CHECK(run("resume x --set steps=9") == 0);
  const std::string said = content_of(root / "log");
  INFO(said);
  CHECK(contains(said, "has ended after step 2, by stop.judgement"));
  CHECK(record::latest_checkpoint(root / "results/x/a/checkpoints") == folder);
  CHECK(nlohmann::json::parse(content_of(root / "results/x/a/summary.json")).at("status") == "completed");
}

}  // namespace ddp::checkpoint
