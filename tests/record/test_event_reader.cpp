#include "record/metrics/event_reader.h"

#include <cmath>
#include <limits>
#include <set>

#include <nlohmann/json.hpp>

#include "catch.h"
#include "record/metrics/event_lines.h"
#include "record/metrics/metrics_log.h"
#include "scratch_folder.h"

namespace ddp::record {
namespace {

std::string without_newline(std::string line) {
  REQUIRE(line.ends_with('\n'));
  line.pop_back();
  return line;
}

// A line with its keys in alphabetical order, or in the reverse.
std::string sorted(const std::string& line) { return nlohmann::json::parse(line).dump(); }
std::string reversed(const std::string& line) {
  const auto given = nlohmann::json::parse(line);
  auto other_way = nlohmann::ordered_json::object();
  for (auto member = given.crbegin(); member != given.crend(); ++member) other_way[member.key()] = member.value();
  return other_way.dump();
}

std::vector<std::string> every_line() {
  return {without_newline(to_line(StepRecord{.epoch = 1, .step = 7, .loss = 0.5, .lr = 0.1, .samples = 8}, 64, 2)),
          without_newline(to_line(
              EpochRecord{.epoch = 1, .step = 7, .samples = 8, .metrics = {{"train_loss", 0.5}, {"val_auroc", 0.75}}},
              64, {.training = 1.5, .waiting_for_data = 0.5, .validating = 0.25}, 2)),
          without_newline(to_line(SaveRecord{.epoch = 1, .step = 7, .folder = "step-00000007"}, 2)),
          without_newline(to_line(ResumeRecord{.epoch = 1,
                                               .step = 7,
                                               .checkpoint = "step-00000007",
                                               .world_size = 2,
                                               .changes = "{\"epochs\":[3,5]}",
                                               .origin = Origin{.run = "a/1", .checkpoint = "step-00000007"}},
                                  2)),
          without_newline(to_line(RestartRecord{.epoch = 1, .step = 7, .cause = "killed"}, 2))};
}

}  // namespace

TEST_CASE("a line with its keys in another order is the same event") {
  for (const std::string& line : every_line()) {
    INFO(line);
    Event written;
    REQUIRE(read_event(line, written));
    CHECK(written.kind != EventKind::unknown);
    for (const std::string& other : {sorted(line), reversed(line)}) {
      INFO(other);
      REQUIRE(other != line);
      Event read;
      REQUIRE(read_event(other, read));
      CHECK(read.kind == written.kind);
      CHECK(read.has_place);
      CHECK(read.epoch == 1);
      CHECK(read.step == 7);
      CHECK(read.seconds == 2);
      REQUIRE(read.numbers.size() == written.numbers.size());
      for (const Event::Number& number : written.numbers) CHECK(read.number(number.name) == number.value);
    }
  }
}

TEST_CASE("unknown keys and events are read, and damaged lines are skipped") {
  Event event;
  REQUIRE(read_event(R"({"event":"step","epoch":0,"step":1,"loss":0.5,"grad_norm":2,"note":[1]})", event));
  CHECK(event.kind == EventKind::step);
  CHECK(event.number("grad_norm") == 2);
  REQUIRE(read_event(R"({"event":"epoch","epoch":0,"step":1,"train_loss":null,"val_f1":0.5})", event));
  CHECK(std::isnan(event.number("train_loss")));
  CHECK(event.number("val_f1") == 0.5);
  REQUIRE(read_event(R"({"event":"promotion","grade":3})", event));
  CHECK(event.kind == EventKind::unknown);
  CHECK_FALSE(event.has_place);
  for (const char* damaged : {"", "[]", "{}", "{\"event\":7}", R"({"event":"step","epoch":0,"st)",
                              R"({"event":"epoch","epoch":0})", R"({"event":"step","epoch":-1,"step":1,"loss":1})",
                              R"({"event":"step","epoch":0,"step":1e9})", R"({"event":"promotion","step":-1})"}) {
    INFO(damaged);
    CHECK_FALSE(read_event(damaged, event));
  }
}

TEST_CASE("a reader of some kinds of events returns only those, for any order of their keys") {
  const ScratchFolder scratch;
  std::string text;
  for (const std::string& line : every_line()) text += line + "\n" + sorted(line) + "\n" + reversed(line) + "\n";
  scratch.write("metrics.jsonl", text + "{\"event\":\"res\n");
  EventReader events(scratch.folder() / "metrics.jsonl", {EventKind::restart, EventKind::resume});
  int resumes = 0;
  int restarts = 0;
  while (const Event* event = events.next()) (event->kind == EventKind::resume ? resumes : restarts)++;
  CHECK(resumes == 3);
  CHECK(restarts == 3);
}

TEST_CASE("the history of a run and its rewinding do not depend on the order of keys") {
  const auto epoch_line = [](std::int64_t epoch, double accuracy) {
    return to_line(EpochRecord{.epoch = epoch,
                               .step = 2 * epoch + 2,
                               .samples = 8,
                               .metrics = {{"train_loss", 1.0}, {"val_accuracy", accuracy}}},
                   1, {}, 1);
  };
  const ScratchFolder scratch;
  const auto file = scratch.folder() / "metrics.jsonl";
  const std::string first = sorted(epoch_line(0, 0.5)) + "\n" + reversed(epoch_line(1, 0.75)) + "\n";
  scratch.write("metrics.jsonl", first + reversed(epoch_line(2, 0.25)) + "\n");
  const EpochHistory history = epoch_history(file, {.name = "val_accuracy"}, /*best_step=*/4);
  REQUIRE(history.best);
  CHECK(history.best->value == 0.75);
  CHECK(history.best->epoch == 1);
  CHECK(history.last->step == 6);
  CHECK(value_of(history.metrics, "val_accuracy") == 0.25);
  rewind_metrics(file, 4, 2);
  CHECK(scratch.read("metrics.jsonl") == first);
}

TEST_CASE("the figures of a validation are those of its own line") {
  const ScratchFolder scratch;
  scratch.write("metrics.jsonl", R"({"event":"epoch","epoch":0,"step":2,"train_loss":3.0,"val_auroc":0.5})"
                                 "\n"
                                 R"({"event":"validation","epoch":1,"step":3,"val_auroc":0.75})"
                                 "\n"
                                 R"({"event":"epoch","epoch":1,"step":4,"train_loss":1.0,"val_auroc":0.625})"
                                 "\n");
  const auto file = scratch.folder() / "metrics.jsonl";
  const EpochHistory history = epoch_history(file, {.name = "val_auroc"}, /*best_step=*/3);
  REQUIRE(history.best);
  CHECK(history.best->values == config::Value{{"val_auroc", 0.75}});
  CHECK(history.last->value == 0.625);
  CHECK_FALSE(epoch_history(file, {.name = "val_auroc"}, /*best_step=*/1).best);
}

TEST_CASE("metrics are shown with the losses first and the others by name") {
  const std::set<std::string, MetricOrder> order{"val_accuracy", "test_loss", "val_loss", "val_auroc", "train_loss"};
  CHECK(std::vector<std::string>(order.begin(), order.end()) ==
        std::vector<std::string>{"train_loss", "val_loss", "test_loss", "val_accuracy", "val_auroc"});
}

}  // namespace ddp::record
