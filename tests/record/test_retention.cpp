#include <limits>
#include <set>

#include "catch.h"
#include "record/file/input_file.h"
#include "record/saves/checkpoint_index.h"
#include "record/saves/retention.h"
#include "scratch_folder.h"
#include "started_run.h"

namespace ddp::record {
namespace fs = std::filesystem;
namespace {

std::set<std::int64_t> steps_in(const ScratchFolder& scratch) {
  std::set<std::int64_t> steps;
  for (const auto& folder : complete_checkpoints(scratch.folder())) steps.insert(step_of(folder));
  return steps;
}

}  // namespace

TEST_CASE("the newest regular checkpoints, the best one, and the newest timed one stay") {
  const ScratchFolder scratch;
  saved(scratch.folder(), 10, "0.5", "best");
  saved(scratch.folder(), 20, "0.2", "best");
  saved(scratch.folder(), 25, "null", "time");
  saved(scratch.folder(), 30, "0.4");
  saved(scratch.folder(), 35, "null", "time");
  saved(scratch.folder(), 40, "0.3");
  saved(scratch.folder(), 50, "0.6");
  retain(scratch.folder(), 2, 1);
  CHECK(steps_in(scratch) == std::set<std::int64_t>{20, 35, 40, 50});
  retain(scratch.folder(), 1, 2);
  CHECK(steps_in(scratch) == std::set<std::int64_t>{20, 35, 40, 50});
  retain(scratch.folder(), 1, 0);
  CHECK(steps_in(scratch) == std::set<std::int64_t>{35, 50});
}

TEST_CASE("folders that a user put among the checkpoints are never listed or removed") {
  const ScratchFolder scratch;
  const fs::path checkpoint = saved(scratch.folder(), 96, "0.5");
  const std::vector<std::string> of_user{
      "step-00000096-keep", "step-00000096.bak", "step-best",         "step-",
      "mine.tmp",           ".step-best.tmp",    "step-00000096.tmp", "step-99999999999999999999"};
  for (const std::string& name : of_user) fs::copy(checkpoint, scratch.folder() / name);
  const std::vector<std::string> unfinished{".step-00000096.tmp/state.json", ".step-00000048.removed.tmp/COMPLETE",
                                            "step-00000100/config.toml.tmp", "step-00000100/settings.toml.tmp",
                                            "accepted-data.json.tmp"};
  for (const std::string& name : unfinished) scratch.write(name, "");
  fs::create_symlink("step-00000096", scratch.folder() / "latest.tmp");
  const fs::path newest = saved(scratch.folder(), 100, "0.5");
  CHECK(checkpoint_folders(scratch.folder()) == std::vector{newest, checkpoint});
  CHECK(latest_checkpoint(scratch.folder()) == newest);
  scratch.write("step-00000100/mine.tmp", "");
  retain(scratch.folder(), 1, 0);
  remove_unfinished(scratch.folder());
  CHECK(fs::exists(scratch.folder() / "step-00000100/mine.tmp"));
  for (const std::string& name : of_user) CHECK(fs::exists(scratch.folder() / name / "COMPLETE"));
  for (const std::string& name : unfinished) CHECK_FALSE(fs::exists(scratch.folder() / name));
  CHECK_FALSE(fs::is_symlink(scratch.folder() / "latest.tmp"));
  CHECK_FALSE(fs::exists(checkpoint));
}

TEST_CASE("the newest checkpoint stays for any reason of its save") {
  for (const char* reason : {"best", "time"}) {
    const ScratchFolder scratch;
    saved(scratch.folder(), 10, "0.5");
    saved(scratch.folder(), 20, "0.7", reason);
    retain(scratch.folder(), 1, 0);
    CHECK(steps_in(scratch) == std::set<std::int64_t>{10, 20});
  }
}

TEST_CASE("a checkpoint saved because of the time is never the best one") {
  const ScratchFolder scratch;
  const fs::path regular = saved(scratch.folder(), 10, "0.5");
  saved(scratch.folder(), 20, "0.1", "time");
  CHECK(by_metric(complete_checkpoints(scratch.folder())) == std::vector<fs::path>{regular});
  CHECK(best_saved(scratch.folder(), {.name = "val_loss"})->step == 10);
  CHECK_FALSE(best_saved(scratch.folder(), {.name = "val_accuracy"}));
}

TEST_CASE("a checkpoint of a version that wrote no reason is regular, and one with an unknown reason is damaged") {
  const ScratchFolder scratch;
  CHECK(position_of(saved(scratch.folder(), 10, "0.5")).reason == SaveReason::regular);
  CHECK(position_of(saved(scratch.folder(), 20, "0.5", "best")).reason == SaveReason::best);
  CHECK(position_of(saved(scratch.folder(), 30, "0.5", "time")).reason == SaveReason::time);
  CHECK_THROWS(position_of(saved(scratch.folder(), 40, "0.5", "regularly")));
}

TEST_CASE("a value is better than another by the direction of its metric, and a number is better than none") {
  constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();
  constexpr double kInfinity = std::numeric_limits<double>::infinity();
  const config::Metric loss{.name = "val_loss", .direction = config::Direction::less};
  const config::Metric auroc{.name = "val_auroc", .direction = config::Direction::greater};
  CHECK(loss.is_better(0.1, 0.2));
  CHECK_FALSE(loss.is_better(0.2, 0.2));
  CHECK(auroc.is_better(0.2, 0.1));
  CHECK(loss.is_better(0.2, kNaN));
  CHECK_FALSE(loss.is_better(kNaN, 0.2));
  CHECK_FALSE(auroc.is_better(kInfinity, kNaN));
}

TEST_CASE("the best checkpoints are kept by their recorded direction, also for a metric with an unknown name") {
  for (const auto& [direction, best] : {std::pair{"greater", 20}, std::pair{"less", 30}}) {
    const ScratchFolder scratch;
    const std::string metric = "\"direction\":\"" + std::string(direction) + "\",\"name\":\"val_auroc\"";
    saved(scratch.folder(), 10, "0.5", "best", metric);
    saved(scratch.folder(), 20, "0.9", "best", metric);
    saved(scratch.folder(), 30, "0.2", "best", metric);
    saved(scratch.folder(), 40, "0.6", "", metric);
    retain(scratch.folder(), 1, 1);
    CHECK(steps_in(scratch) == std::set<std::int64_t>{best, 40});
  }
}

TEST_CASE("in a checkpoint without a recorded direction a smaller loss and a greater accuracy are better") {
  const ScratchFolder scratch;
  CHECK(position_of(saved(scratch.folder(), 10, "0.5")).judged_by.direction == config::Direction::less);
  const auto accuracy = position_of(saved(scratch.folder(), 20, "0.5", "", "\"name\":\"val_accuracy\""));
  CHECK(accuracy.judged_by.direction == config::Direction::greater);
  CHECK_THROWS(position_of(saved(scratch.folder(), 30, "0.5", "", R"("name":"val_loss","direction":"upwards")")));
}

TEST_CASE("a copied checkpoint is complete or absent") {
  const ScratchFolder from;
  const ScratchFolder to;
  const fs::path first = saved(from.folder(), 10, "0.5");
  // damage_of() requires these two, with their sizes and checksums.
  CHECK_THROWS(copy_checkpoint(first, to.folder()));
  CHECK(fs::is_empty(to.folder()));
  from.write("step-00000010/model.safetensors", "m");
  from.write("step-00000010/optimizer.safetensors", "o");
  std::string state = from.read("step-00000010/state.json");
  state.insert(1, "\"files\":{\"model.safetensors\":{\"bytes\":1,\"xxh3\":\"" + hash_hex("m") +
                      "\"},\"optimizer.safetensors\":{\"bytes\":1,\"xxh3\":\"" + hash_hex("o") + "\"}},");
  from.write("step-00000010/state.json", state);
  from.write("step-00000010/COMPLETE", hash_hex(state) + "\n");
  const fs::path copy = copy_checkpoint(first, to.folder());
  CHECK(copy == to.folder() / "step-00000010");
  CHECK(damage_of(copy).empty());
  CHECK(fs::read_symlink(to.folder() / "latest") == "step-00000010");
  fs::remove_all(first);
  CHECK(damage_of(copy).empty());
}

}  // namespace ddp::record
