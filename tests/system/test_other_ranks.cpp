#include <cmath>
#include <map>

#include "finished_run.h"

namespace ddp::system_test {
namespace fs = std::filesystem;
namespace {

// 12 steps of 24 samples per epoch, saved at each; 288 samples divide over 1, 2, 3, 4 and 6 ranks. The loss of a step
// shows which samples it saw.
const std::string kManyRanks = R"(
dataset     = { name = "random_pairs", size = 288, features = 6 }
optimizer   = { name = "sgd", lr = 0.05, momentum = 0.9 }
batch_size  = 12
epochs      = 2)" + kEachStepSaved;

std::map<std::int64_t, double> losses_of(const RunFolder& run) {
  std::map<std::int64_t, double> losses;
  for (const Json& step : run.events("step")) losses[step.at("step")] = step.at("loss");
  return losses;
}

// Other ranks sum in another order, so the last bits differ; another sample would change the third digit.
void check_same_samples(const RunFolder& run, const std::map<std::int64_t, double>& expected) {
  const auto losses = losses_of(run);
  REQUIRE(losses.size() == expected.size());
  for (const auto& [step, loss] : expected) {
    INFO("step " << step);
    CHECK(std::abs(losses.at(step) - loss) < 1e-5 * loss);
  }
}

std::string pool(int ranks) { return "device_pool=" + std::to_string(ranks); }

}  // namespace

TEST_CASE("a run that resumes with another number of ranks inside an epoch sees each of its samples once", "[slow]") {
  const FinishedRun f(kManyRanks);
  const auto expected = losses_of(f.run);
  for (const int ranks : {4, 1, 3, 6}) {
    INFO(ranks << " ranks");
    f.resume({"small", "--from", "5", "--set", pool(ranks)},
             {"ranks were 2, now " + std::to_string(ranks) + "; batch_size " + std::to_string(24 / ranks) +
              " keeps 24 samples a step"});
    CHECK(f.run.has_each_step_once(24));
    check_same_samples(f.run, expected);
    CHECK(f.run.summary().at("world_size") == ranks);
    for (const Json& step : f.run.events("step")) CHECK(step.at("samples") == 24);
    // Back to two ranks, from the end of the previous epoch, for the next one.
    f.resume({"small", "--from", "5", "--set", pool(2)});
    check_same_samples(f.run, expected);
  }
}

TEST_CASE("the number of ranks may change several times in one epoch", "[slow]") {
  const FinishedRun f(kManyRanks);
  const auto expected = losses_of(f.run);
  f.resume({"small", "--from", "2", "--set", pool(4), "--set", "steps=5"});
  f.resume({"small", "--set", pool(1), "--set", "steps=9"});
  f.resume({"small", "--set", pool(3), "--set", "steps=10"});
  f.resume({"small", "--set", pool(2), "--set", "epochs=2"});
  CHECK(f.run.has_each_step_once(24));
  check_same_samples(f.run, expected);
  // The epoch line counts all of them.
  CHECK(f.run.events("epoch").front().at("samples") == 288);
}

TEST_CASE("micro-batches may replace ranks") {
  const FinishedRun f(kManyRanks);
  const auto expected = losses_of(f.run);
  f.resume({"small", "--from", "7", "--set", pool(1), "--set", "accumulate=2"});
  check_same_samples(f.run, expected);
  CHECK(contains(text_of(f.run.path() / "config.toml"), "batch_size = 12\n"));
  // Also with the same ranks: the samples of a step stay the same.
  f.resume({"small", "--from", "7", "--set", pool(2), "--set", "accumulate=3"});
  CHECK(contains(text_of(f.run.path() / "config.toml"), "batch_size = 4\n"));
  check_same_samples(f.run, expected);
}

TEST_CASE("changed settings are shown and kept in the run's history", "[slow]") {
  const FinishedRun f(kManyRanks);
  const Outcome again = f.resume({"small", "--from", "5", "--set", pool(4), "--set", "optimizer.lr=0.01"});
  for (const char* text : {"batch_size was 12, now 6", "optimizer.lr was 0.05, now 0.01", "device_pool was"}) {
    CHECK(contains(again.err, text));
  }
  const Json resumed = f.run.events("resume").back();
  CHECK(resumed.at("world_size") == 4);
  CHECK(resumed.at("changes").at("batch_size") == Json{12, 6});
  CHECK(resumed.at("changes").at("optimizer.lr") == Json{0.05, 0.01});
  CHECK(resumed.at("changes").size() == 3);
  // Changes are those since the settings that trained the checkpoint.
  f.resume({"small", "--from", "7"});
  CHECK(f.run.events("resume").back().at("changes").empty());
  f.resume({"small", "--from", "5"});
  CHECK(f.run.events("resume").back().at("changes") == resumed.at("changes"));
}

TEST_CASE("a number of ranks that cannot keep the samples of a step is refused before anything is changed") {
  const FinishedRun f(kManyRanks);
  const std::string before = text_of(f.run.path() / "config.toml");
  f.refused({"small", "--from", "5", "--set", pool(5)}, {"a step of this run takes 24 samples", "5 ranks"});
  f.refused({"small", "--from", "5", "--set", "accumulate=5"}, {"| accumulate=5", "24 samples"});
  f.refused({"small", "--from", "5", "--set", pool(4), "--set", "batch_size=12"}, {"inside an epoch"});
  CHECK(text_of(f.run.path() / "config.toml") == before);
  CHECK(f.run.training() == f.training);
  // At an epoch's end the samples of a step may change with the ranks.
  f.resume({"small", "--from", "12", "--set", pool(4), "--set", "batch_size=12"});
  CHECK(f.run.has_each_step_once(12 + 6));
}

}  // namespace ddp::system_test
