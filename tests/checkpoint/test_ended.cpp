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

TEST_CASE("with the proposed value of its rule an ended run goes on, also if it did more than the rule allows") {
  config::Experiment e;
  const auto proposed = [&e](const char* rule, const config::Value& stop, double seconds) {
    return record::longer_rule(e, rule, stop, seconds);
  };
  e.stop.max_time = "1s";
  CHECK(proposed(record::kMaxTime, {}, 1.2) == "2s");
  e.stop.max_time = proposed(record::kMaxTime, {}, 2.0005);
  CHECK_FALSE(record::still_ended(e, record::kMaxTime, {}, 2.0005));
  e.stop.patience = 1;
  CHECK(proposed(record::kPatience, {{"waited", 1}}, 0) == "2");
  CHECK(proposed(record::kPatience, {{"waited", 5}}, 0) == "6");
}

}  // namespace ddp::checkpoint
