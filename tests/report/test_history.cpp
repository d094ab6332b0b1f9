#include <algorithm>
#include <cmath>
#include <limits>
#include <string>

#include "base/error.h"
#include "catch.h"
#include "record/metrics/event_lines.h"
#include "record/metrics/event_reader.h"
#include "report/read/history.h"
#include "scratch_folder.h"

namespace ddp::report {
namespace {

using config::Value;

std::string history_line(std::int64_t step, double loss) {
  return record::JsonLine("step")
      .add("epoch", std::int64_t{0})
      .add("step", step)
      .add("loss", loss)
      .add("lr", 0.5)
      .add("samples", std::int64_t{4})
      .add("samples_per_second", 8.0)
      .add("seconds", 0.25 * static_cast<double>(step))
      .finish();
}

History history_of(const std::string& metrics, std::size_t most_points = 100) {
  const ScratchFolder scratch;
  scratch.write("metrics.jsonl", metrics);
  return read_history(scratch.folder() / "metrics.jsonl", most_points);
}

}  // namespace

TEST_CASE("a short run's curve has a point for each step, with its loss, learning rate and throughput") {
  const History history = history_of(history_line(1, 0.5) + history_line(2, 0.25));
  const Value json = config::written(history.steps);
  CHECK(json["rows_per_point"] == 1);
  CHECK(json["step"] == Value({1, 2}));
  CHECK(json["seconds"] == Value({0.25, 0.5}));
  CHECK(json["columns"]["loss"]["mean"] == Value({0.5, 0.25}));
  CHECK(json["columns"]["lr"]["mean"] == Value({0.5, 0.5}));
  CHECK(json["columns"]["samples_per_second"]["mean"] == Value({8, 8}));
  CHECK_FALSE(json["columns"]["loss"].contains("min"));
  CHECK(history.passed_over == 0);
}

TEST_CASE("a long run's curve has a bounded number of points, and each spike is in one of them") {
  std::string metrics;
  constexpr std::int64_t kSteps = 50'000;
  for (std::int64_t step = 1; step <= kSteps; ++step) metrics += history_line(step, step == 33'333 ? 99 : step % 2);
  const Value json = config::written(history_of(metrics, 100).steps);
  CHECK(json["rows"] == kSteps);
  REQUIRE(json["step"].size() <= 100);
  REQUIRE(json["step"].size() >= 50);
  CHECK(json["step"].back() == kSteps);
  const Value& loss = json["columns"]["loss"];
  const auto highest = std::max_element(loss["max"].begin(), loss["max"].end());
  CHECK(*highest == 99);
  const auto point = static_cast<std::size_t>(highest - loss["max"].begin());
  CHECK(json["step"][point] >= 33'333);
  CHECK((point == 0 || json["step"][point - 1] < 33'333));
  CHECK(loss["min"][point] == 0);
  CHECK(std::abs(loss["mean"][0].get<double>() - 0.5) < 0.01);
}

TEST_CASE("a loss that is not finite is a marked gap and leaves the mean of the others unchanged") {
  const double nan = std::numeric_limits<double>::quiet_NaN();
  const std::string metrics = history_line(1, 1) + history_line(2, nan) + history_line(3, 3) + history_line(4, 5);
  const Value each = config::written(history_of(metrics).steps)["columns"]["loss"];
  CHECK(each["mean"] == Value({1, nullptr, 3, 5}));
  CHECK(each["not_finite"] == Value::array({{1, 1}}));
  const Value pairs = config::written(history_of(metrics, 2).steps)["columns"]["loss"];
  CHECK(pairs["mean"] == Value({1, 4}));
  CHECK(pairs["not_finite"] == Value::array({{0, 1}}));
}

TEST_CASE("numbers at the limits of a double are combined without overflow") {
  const double most = std::numeric_limits<double>::max();
  const std::string metrics =
      history_line(1, most) + history_line(2, most) + history_line(3, -most) + history_line(4, most);
  const Value loss = config::written(history_of(metrics, 2).steps)["columns"]["loss"];
  for (const char* kind : {"mean", "min", "max"}) {
    for (const Value& value : loss[kind]) CHECK((value.is_null() || std::isfinite(value.get<double>())));
  }
}

TEST_CASE("lines that are damaged, out of order or torn are skipped, and the others are read") {
  const std::string metrics = history_line(1, 1) + "{\"event\":\"step\",\"epoch\":0,\"st\n" + "\xff\xfe\n" + "[]\n" +
                              history_line(1, 7) + "{\"event\":\"step\",\"epoch\":-1,\"step\":2,\"loss\":1}\n" +
                              std::string(3 * record::LineReader::kLongest, 'x') + "\n" + std::string(40, '[') + "\n" +
                              history_line(2, 2) + history_line(3, 3).substr(0, 60);
  const History history = history_of(metrics);
  CHECK(config::written(history.steps)["step"] == Value({1, 2}));
  CHECK(history.passed_over == 7);
}

TEST_CASE("a line without an end takes no memory") {
  const History history = history_of(history_line(1, 1) + std::string(8 << 20, 'x'));
  CHECK(history.steps.rows() == 1);
}

TEST_CASE("a missing file is a run without a step, and a path that is not a file is refused") {
  const ScratchFolder scratch;
  CHECK(read_history(scratch.folder() / "metrics.jsonl", 10).steps.rows() == 0);
  CHECK_THROWS_AS(read_history(scratch.folder(), 10), Error);
}

TEST_CASE("every number of an epoch's line is a curve, also an unknown one, up to a limit") {
  std::string line = "{\"event\":\"epoch\",\"epoch\":0,\"step\":2,\"train_loss\":0.5,\"f1\":null,\"word\":\"x\"";
  const std::string first = line + "}\n";
  const Value json = config::written(history_of(first).epochs);
  CHECK(json["columns"]["train_loss"]["mean"] == Value({0.5}));
  CHECK(json["columns"]["f1"]["mean"] == Value({nullptr}));
  CHECK(json["columns"]["f1"]["not_finite"] == Value::array({{0, 1}}));
  CHECK(json["columns"].size() == 2);
  for (int i = 0; i < 200; ++i) line += ",\"m" + std::to_string(i) + "\":1";
  CHECK(config::written(history_of(line + "}\n").epochs)["columns"].size() == Curves::kMostColumns);
}

TEST_CASE("an unknown event is one of the events and not a damaged line") {
  const History history = history_of(history_line(1, 1) + "{\"event\":\"promotion\",\"epoch\":0,\"step\":1}\n");
  CHECK(history.passed_over == 0);
  REQUIRE(history.events.newest.size() == 1);
  CHECK(history.events.newest.front()["event"] == "promotion");
}

TEST_CASE("steps whose keys have another order are on the curve") {
  const std::string other = R"({"seconds":0.5,"lr":0.5,"loss":0.25,"step":2,"samples":4,"epoch":0,"event":"step"})";
  const Value json = config::written(history_of(history_line(1, 0.5) + other + "\n" + history_line(3, 0.125)).steps);
  CHECK(json["step"] == Value({1, 2, 3}));
  CHECK(json["columns"]["loss"]["mean"] == Value({0.5, 0.25, 0.125}));
  const ScratchFolder scratch;
  scratch.write("metrics.jsonl", other + "\n");
  CHECK(loss_curve(scratch.folder() / "metrics.jsonl", 1).at(0).loss == 0.25);
}

TEST_CASE("restarts whose keys have another order are continuation points") {
  const ScratchFolder scratch;
  scratch.write("metrics.jsonl", "{\"cause\":\"killed\",\"step\":5,\"epoch\":0,\"event\":\"restart\"}\n");
  const auto points = continuation_points_of(scratch.folder() / "metrics.jsonl");
  REQUIRE(points.size() == 1);
  CHECK(in_words(points.front()) == "after step 5: killed");
}

TEST_CASE("a validation inside an epoch is a point of the curves per epoch, and the epoch's end another") {
  const History history = history_of(
      "{\"event\":\"validation\",\"epoch\":0,\"step\":1,\"val_loss\":2}\n"
      "{\"event\":\"epoch\",\"epoch\":0,\"step\":2,\"train_loss\":1,\"val_loss\":1}\n");
  CHECK(config::written(history.epochs)["columns"]["val_loss"]["mean"] == Value({2, 1}));
  CHECK(history.passed_over == 0);
}

TEST_CASE("the newest of countless restarts and checkpoints are kept, and all are counted") {
  std::string metrics;
  for (int i = 1; i <= 1000; ++i) {
    metrics += "{\"event\":\"restart\",\"epoch\":0,\"step\":" + std::to_string(i) + ",\"cause\":\"x\",\"more\":{}}\n";
    metrics += "{\"event\":\"checkpoint\",\"epoch\":0,\"step\":" + std::to_string(i) + ",\"path\":7}\n";
  }
  const History history = history_of(metrics);
  CHECK(history.events.in_all == 1000);
  CHECK(history.events.newest.size() == NewestEvents::kMost);
  CHECK(history.events.newest.back() ==
        Value({{"event", "restart"}, {"epoch", 0}, {"step", 1000}, {"seconds", 0}, {"cause", "x"}}));
  CHECK(history.checkpoints.in_all == 1000);
  CHECK_FALSE(history.checkpoints.newest.back().contains("path"));
}

TEST_CASE("a step's line in the written form is read by the fast path, and any other by the JSON reader") {
  std::string line = history_line(7, 0.1);
  line.pop_back();
  record::Event event;
  const auto is_fast = [&](const std::string& text) {
    return record::read_event(text, event) && event.members.is_null();
  };
  REQUIRE(is_fast(line));
  CHECK(event.step == 7);
  CHECK(event.number("loss") == 0.1);
  CHECK(event.seconds == 1.75);
  std::string lost = history_line(7, std::numeric_limits<double>::infinity());
  lost.pop_back();
  REQUIRE(is_fast(lost));
  CHECK(std::isnan(event.number("loss")));
  for (std::size_t size = 0; size < line.size(); ++size) CHECK_FALSE(is_fast(line.substr(0, size)));
  CHECK_FALSE(is_fast(line + "}"));
  for (const char* bad : {"inf", "nan", "-", "\"1\"", "1e999", ""}) {
    const std::string text = "{\"event\":\"step\",\"epoch\":0,\"step\":1,\"loss\":" + std::string(bad) +
                             ",\"lr\":0,\"samples\":1,\"samples_per_second\":1,\"seconds\":1}";
    INFO(text);
    CHECK_FALSE(is_fast(text));
  }
}

TEST_CASE("a history takes the lines that are new, and all of them after a cut") {
  const ScratchFolder scratch;
  HistoryReader reader(scratch.folder() / "metrics.jsonl", 100);
  CHECK(reader.read().steps.rows() == 0);
  const std::string two = history_line(1, 0.5) + history_line(2, 0.25);
  const std::string third = history_line(3, 0.125);
  scratch.write("metrics.jsonl", two + third.substr(0, 20));
  CHECK(reader.read().steps.rows() == 2);
  scratch.write("metrics.jsonl", two + third);
  CHECK(config::written(reader.read().steps)["columns"]["loss"]["mean"] == Value({0.5, 0.25, 0.125}));
  CHECK(reader.read().passed_over == 0);
  // A resume cut off the third step and went on; the file is as long as before.
  scratch.write("metrics.jsonl", two + history_line(3, 0.375));
  CHECK(config::written(reader.read().steps)["columns"]["loss"]["mean"] == Value({0.5, 0.25, 0.375}));
  std::filesystem::remove(scratch.folder() / "metrics.jsonl");
  CHECK(reader.read().steps.rows() == 0);
}

}  // namespace ddp::report
