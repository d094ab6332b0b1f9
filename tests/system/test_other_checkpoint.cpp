// A command that uses a trained model finds its checkpoint damaged, or replaced by a run that trains.
#include <algorithm>
#include <filesystem>

#include "catch.h"
#include "looking.h"
#include "predicting.h"
#include "tables.h"

namespace ddp::system_test {
namespace fs = std::filesystem;
namespace {

// A trained model of shapes with the checkpoints of its three epochs.
struct ThreeCheckpoints : Trained {
  ThreeCheckpoints() {
    for (const auto& entry : fs::directory_iterator(results() / "shapes")) {
      if (!entry.is_symlink()) shapes = RunFolder(entry.path());
    }
    auto epochs = shapes.events("epoch");
    REQUIRE(epochs.size() == 3);
    latest = epochs.back().at("step");
    std::stable_sort(epochs.begin(), epochs.end(),
                     [](const Json& a, const Json& b) { return a.at("val_loss") < b.at("val_loss"); });
    for (const Json& epoch : epochs) best_first.push_back(epoch.at("step"));
  }

  void damage(std::int64_t step) const { fs::resize_file(shapes.checkpoint(step) / "model.safetensors", 100); }
  static std::string name_of(std::int64_t step) {
    const std::string digits = std::to_string(step);
    return "step-" + std::string(8 - digits.size(), '0') + digits;
  }
  std::string predicted_from(std::int64_t step) const {
    return predicted({"shapes.csv", "--from", std::to_string(step)});
  }

  RunFolder shapes{""};
  std::int64_t latest = 0;
  std::vector<std::int64_t> best_first;  // the steps of the checkpoints
};

}  // namespace

TEST_CASE("predict and eval skip a damaged checkpoint, with a warning, unless it was named") {
  const ThreeCheckpoints t;
  const std::int64_t best = t.best_first[0], second = t.best_first[1];
  const std::string from_second = t.predicted_from(second);
  t.damage(best);
  const std::string skipped = t.name_of(best) + " is skipped: model.safetensors is damaged: 100 bytes, not ";
  const Outcome predict = t.done({"predict", "shapes", "shapes.csv"}, {skipped});
  CHECK(predict.out == from_second);
  const Outcome eval = t.done({"eval", "shapes", "--json"}, {skipped});
  CHECK(Json::parse(eval.out).at("step") == second);
  for (const std::string& from : {std::string("best"), std::to_string(best)}) {
    t.check_fails(
        2, {"shapes.csv", "--from", from},
        {t.name_of(best) + ": model.safetensors is damaged", "use the newest whole checkpoint: --from latest"});
  }
  t.damage(t.latest);
  t.done({"predict", "shapes", "shapes.csv", "--from", "latest"},
         {t.name_of(t.latest) + " is skipped: model.safetensors is damaged"});
}

TEST_CASE("predict and eval refuse a run without a whole checkpoint, with the remedy") {
  const ThreeCheckpoints t;
  for (const std::int64_t step : t.best_first) t.damage(step);
  t.check_fails(2, {"shapes.csv"}, {"this run has no undamaged checkpoint"});
  t.check_fails(2, {"shapes.csv", "--from", "best"}, {"model.safetensors is damaged"});
  t.refused({"eval", "shapes"}, {});
}

TEST_CASE("predict from a run that failed before its first save is refused") {
  const ShapesWorkspace w;
  w.ends(1, {"run", "shapes.toml", "--set", "optimizer={name=\"sgd\",lr=1e30}"});
  w.refused({"predict", "shapes", "shapes.csv"}, {"has no complete checkpoint yet"});
}

TEST_CASE("predict and eval take the next checkpoint if a run that trains has replaced theirs") {
  const ThreeCheckpoints t;
  const fs::path latest = t.shapes.checkpoint(t.latest);
  const auto used = [&](Words arguments) {
    const Outcome outcome = t.done(std::move(arguments), {"the run replaced " + t.name_of(t.latest) + " meanwhile"},
                                   {{"LD_PRELOAD", DDP_REPLACED_CHECKPOINT}, {"DDP_REPLACED", latest}});
    fs::rename(latest.parent_path() / ".gone", latest);
    return outcome.out;
  };
  const std::int64_t earlier = t.latest / 3 * 2;
  const std::string from_earlier = t.predicted_from(earlier);
  CHECK(used({"predict", "shapes", "shapes.csv", "--from", "latest"}) == from_earlier);
  used({"predict", "shapes", "shapes.csv", "--from", "latest", "-o", "out.csv"});
  CHECK(text_of(t.folder() / "out.csv") == from_earlier);
  CHECK(Json::parse(used({"eval", "shapes", "--from", "latest", "--json"})).at("step") == earlier);
}

}  // namespace ddp::system_test
