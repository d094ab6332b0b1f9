#include <cmath>
#include <cstring>
#include <limits>
#include <random>

#include <nlohmann/json.hpp>

#include "catch.h"
#include "record/metrics/event_lines.h"
#include "record/metrics/event_reader.h"
#include "record/metrics/metrics_log.h"
#include "record/metrics/run_recorder.h"
#include "record/saves/retention.h"
#include "scratch_folder.h"

namespace ddp::record {
namespace {

const std::string kStep1 = "{\"event\":\"step\",\"epoch\":0,\"step\":1,\"loss\":0.5}\n";
const std::string kStep2 = "{\"event\":\"step\",\"epoch\":0,\"step\":2,\"loss\":0.25}\n";
const std::string kEpoch0 = "{\"event\":\"epoch\",\"epoch\":0,\"step\":2,\"train_loss\":0.375}\n";
const std::string kSaved2 = "{\"event\":\"checkpoint\",\"epoch\":0,\"step\":2}\n";
const std::string kStep3 = "{\"event\":\"step\",\"epoch\":1,\"step\":3,\"loss\":0.125}\n";

std::string rewound(const std::string& text, std::int64_t step, std::int64_t epoch) {
  const ScratchFolder scratch;
  scratch.write("metrics.jsonl", text);
  rewind_metrics(scratch.folder() / "metrics.jsonl", step, epoch);
  return scratch.read("metrics.jsonl");
}

}  // namespace

TEST_CASE("doubles in a line read back the same") {
  std::mt19937_64 random(5);
  for (int time = 0; time < 20000; ++time) {
    std::uint64_t bits = random();
    double value = 0;
    std::memcpy(&value, &bits, sizeof value);
    if (!std::isfinite(value)) continue;
    const double back = nlohmann::json::parse(JsonLine("step").add("loss", value).finish()).at("loss");
    REQUIRE(std::memcmp(&back, &value, sizeof value) == 0);
  }
  for (const double value : {0.1, 1e-320, 1e308, 123456789012345678.0, -0.0}) {
    CHECK(nlohmann::json::parse(JsonLine("step").add("loss", value).finish()).at("loss").get<double>() == value);
  }
}

TEST_CASE("a number that is not finite is null and the line marks it once") {
  const double infinity = std::numeric_limits<double>::infinity();
  CHECK(JsonLine("step").add("loss", std::nan("")).add("lr", -infinity).add("step", std::int64_t{3}).finish() ==
        "{\"event\":\"step\",\"loss\":null,\"lr\":null,\"step\":3,\"finite\":false}\n");
  CHECK(JsonLine("step").add("loss", 1.5).finish() == "{\"event\":\"step\",\"loss\":1.5}\n");
}

TEST_CASE("text in a line is escaped for any bytes") {
  const std::string line = JsonLine("checkpoint").add("path", std::string_view("a\"\\\n\xff z")).finish();
  CHECK(line.find('\n') == line.size() - 1);
  CHECK(nlohmann::json::parse(line).at("path").is_string());
}

TEST_CASE("rewinding removes the lines after the checkpoint and an incomplete line") {
  const std::string all = kStep1 + kStep2 + kEpoch0 + kSaved2 + kStep3;
  CHECK(rewound(all, 3, 1) == all);
  CHECK(rewound(all, 2, 1) == kStep1 + kStep2 + kEpoch0 + kSaved2);
  CHECK(rewound(all, 1, 0) == kStep1);
  CHECK(rewound(all, 0, 0).empty());
  CHECK(rewound(all + "{\"event\":\"step\",\"epoch\":1,\"st", 3, 1) == all);
  CHECK(rewound(kStep1 + "\n[]\nnonsense\n" + kStep2, 2, 1) == kStep1 + kStep2);
  // Lines that begin like a step's line.
  CHECK(rewound("{\"event\":\"step\",\"epoch\":0,\"step\":1,\n" + kStep2, 2, 1) == kStep2);
  CHECK(rewound("{\"event\":\"step\",\"epoch\":0,\"step\":1e9}\n" + kStep2, 2, 1) == kStep2);
  CHECK(rewound("{\"event\":\"step\",\"epoch\":0,\"step\":99999999999999999999}\n" + kStep2, 2, 1) == kStep2);
}

TEST_CASE("rewinding into an epoch removes the line of that epoch") {
  // A run of a given number of steps wrote it at its end, in the middle of the epoch.
  CHECK(rewound(kStep1 + kStep2 + kEpoch0, 2, 0) == kStep1 + kStep2);
}

TEST_CASE("going back to the end of a run keeps the line of the epoch that its last step cut short") {
  // The ranks were killed after their last save and are started again.
  const ScratchFolder scratch;
  scratch.write("metrics.jsonl", kStep1 + kStep2 + kEpoch0 + kSaved2 + "{\"event\":\"ch");
  const RunDirectory run(scratch.folder());
  Position end;
  end.step = 2;
  record::rewind(run, "", end, /*finished=*/true);
  CHECK(scratch.read("metrics.jsonl") == kStep1 + kStep2 + kEpoch0 + kSaved2);
  scratch.write("evaluation.json", "{}");
  record::rewind(run, "", end, /*finished=*/false);
  CHECK_FALSE(std::filesystem::exists(run.evaluation()));
  CHECK(scratch.read("metrics.jsonl") == kStep1 + kStep2 + kSaved2);
}

TEST_CASE("rewinding a missing file leaves none") {
  const ScratchFolder scratch;
  rewind_metrics(scratch.folder() / "metrics.jsonl", 1, 0);
  CHECK_FALSE(std::filesystem::exists(scratch.folder() / "metrics.jsonl"));
}

TEST_CASE("a rank's time is divided among its phases, and waits for other ranks stand apart in those of a step") {
  RankProgress rank;
  rank.enter(Phase::forward);
  rank.waited(50);
  rank.enter(Phase::backward);
  CHECK(rank.seconds(Phase::forward) <= -49);
  CHECK(rank.seconds_waiting_for_ranks == 50);
  // Behind the begin of the last sum all is a wait.
  rank.sum_begins();
  rank.waited(50);
  rank.sum_begins();
  rank.waited(50);
  rank.enter(Phase::validating);
  CHECK(rank.seconds_waiting_for_ranks >= 100);
  CHECK(rank.seconds_waiting_for_ranks < 149);
  rank.waited(50);
  rank.enter(Phase::saving);
  CHECK(rank.seconds(Phase::validating) >= 0);
  CHECK(rank.seconds_waiting_for_ranks < 149);
}

TEST_CASE("speeds are of the training alone, and an epoch tells what else rank 0 did") {
  const ScratchFolder scratch;
  SharedProgress shared(1);
  RunRecorder recorder(scratch.folder() / "metrics.jsonl", shared, Console(-1), 1, 100, nullptr);
  const double began = recorder.seconds();
  // Hours that did not pass: no time is left for the training.
  recorder.spent(Aside::validating, 3600);
  recorder.spent(Aside::saving, 1800);
  shared.rank(0).seconds_in[static_cast<std::size_t>(Phase::loading)] = 7;
  shared.rank(0).seconds_in[static_cast<std::size_t>(Phase::backward)] = 3;
  recorder.step({.epoch = 0, .step = 1, .loss = 1, .lr = 0, .samples = 5400});
  recorder.step({.epoch = 0, .step = 2, .loss = 1, .lr = 0, .samples = 8});
  recorder.epoch({.epoch = 0, .step = 2, .samples = 5408, .metrics = {}});
  recorder.epoch({.epoch = 1, .step = 2, .samples = 0, .metrics = {}});
  const double ended = recorder.seconds();
  recorder.flush();
  EventReader lines(scratch.folder() / "metrics.jsonl");
  CHECK(lines.next()->number("samples_per_second") == 0);
  CHECK(lines.next()->number("samples_per_second") > 0);
  const Event* epoch = lines.next();
  CHECK(epoch->number("seconds_validating") == 3600);
  CHECK(epoch->number("seconds_saving") == 1800);
  CHECK(epoch->number("seconds_waiting_for_data") == 7);
  CHECK(epoch->number("seconds_backward") == 3);
  CHECK(epoch->number("seconds_training") <= ended - began - 5400);
  epoch = lines.next();
  CHECK(epoch->number("seconds_validating") == 0);
  CHECK(epoch->number("seconds_waiting_for_data") == 0);
  CHECK(epoch->number("seconds_training") <= ended - began);
  CHECK(shared.run().paused == 5400);
  CHECK(shared.run().validation_seconds == 3600);
}

TEST_CASE("appended lines are in the file when flush returns and when the log ends") {
  const ScratchFolder scratch;
  {
    MetricsLog log(scratch.folder() / "metrics.jsonl", Console(-1));
    log.append(kStep1);
    log.flush();
    CHECK(scratch.read("metrics.jsonl") == kStep1);
    log.append(kStep2);
  }
  CHECK(scratch.read("metrics.jsonl") == kStep1 + kStep2);
}

TEST_CASE("the history of a run is its last epoch and its last validation") {
  const ScratchFolder scratch;
  scratch.write("metrics.jsonl",
                kStep1 + "{\"event\":\"epoch\",\"epoch\":0,\"step\":2,\"train_loss\":3.0,\"val_accuracy\":0.5}\n" +
                    "{\"event\":\"epoch\",\"epoch\":1,\"step\":4,\"train_loss\":1.0,\"val_accuracy\":0.25}\n" +
                    "{\"event\":\"epoch\",\"epoch\":2,\"step\":6,\"train_loss\":2.0}\n" + "{\"event\":\"epoch\",\"ep");
  const config::Metric accuracy{.name = "val_accuracy", .direction = config::Direction::greater};
  const EpochHistory loss = epoch_history(scratch.folder() / "metrics.jsonl", accuracy);
  CHECK(value_of(loss.metrics, "train_loss") == 2.0);
  CHECK(value_of(loss.metrics, "val_accuracy") == 0.25);
  CHECK(std::isnan(value_of(loss.metrics, "val_loss")));
  REQUIRE(loss.last);
  CHECK(loss.last->step == 4);
  CHECK(loss.best->step == 4);
  CHECK_FALSE(epoch_history(scratch.folder() / "gone", accuracy).best);
}

}  // namespace ddp::record
