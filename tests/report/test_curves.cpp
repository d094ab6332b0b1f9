#include <sys/stat.h>
#include <cmath>
#include <sstream>

#include "catch.h"
#include "report/text/chart.h"
#include "report/text/table.h"
#include "scratch_folder.h"
#include "words.h"

namespace ddp::report {
namespace fs = std::filesystem;
namespace {

std::string step_line(int step, const std::string& loss) {
  return "{\"event\":\"step\",\"epoch\":0,\"step\":" + std::to_string(step) + ",\"loss\":" + loss +
         ",\"lr\":0.1,\"samples\":8,\"samples_per_second\":9.5,\"seconds\":1.5}\n";
}

std::vector<CurvePoint> curve_of(const std::string& text, std::size_t most) {
  const ScratchFolder scratch;
  scratch.write("metrics.jsonl", text);
  return loss_curve(scratch.folder() / "metrics.jsonl", most);
}

std::string chart(const std::vector<Curve>& curves, const Terminal& terminal) {
  std::ostringstream out;
  print_chart(curves, out, terminal);
  return out.str();
}

Curve falling(const std::string& name, double from) {
  Curve curve{.name = name, .points = {}};
  for (int step = 1; step <= 20; ++step) curve.points.push_back({.step = double(step), .loss = from / step});
  return curve;
}

}  // namespace

TEST_CASE("a curve has the mean of each part of the run, and covers all of its steps") {
  std::string text;
  for (int step = 1; step <= 400; ++step) text += step_line(step, std::to_string(1000 - step));
  for (const std::size_t most : {1, 7, 40}) {
    const auto points = curve_of(text, most);
    INFO(most);
    REQUIRE(points.size() == most);
    for (const CurvePoint& point : points) CHECK(point.step + point.loss == 1000);
    for (std::size_t i = 1; i < points.size(); ++i) CHECK(points[i].step > points[i - 1].step);
  }
  CHECK(curve_of(text, 400).size() == 400);
}

TEST_CASE("the same losses give the same curve, whatever else is in their lines") {
  std::string text, other;
  for (int step = 1; step <= 35; ++step) {
    text += step_line(step, std::to_string(1000 - step));
    std::string line = step_line(step, std::to_string(1000 - step));
    line.replace(line.find("1.5}"), 4, step % 3 == 0 ? "0.000123456789}" : "2}");
    other += line + "{\"event\":\"checkpoint\",\"epoch\":0,\"step\":" + std::to_string(step) + "}\n";
  }
  for (const std::size_t most : {4, 12, 60}) {
    const auto points = curve_of(text, most), others = curve_of(other, most);
    REQUIRE(points.size() == others.size());
    for (std::size_t i = 0; i < points.size(); ++i) {
      CHECK(points[i].step == others[i].step);
      CHECK(points[i].loss == others[i].loss);
    }
  }
  CHECK(curve_of(text, 60).front().step == 1);
}

TEST_CASE("a curve skips lines that are not steps and losses that are not finite") {
  const auto points = curve_of(step_line(1, "4.0") + "{\"event\":\"epoch\",\"epoch\":0,\"step\":1,\"loss\":7}\n" +
                                   step_line(2, "null") + "nonsense\n\n" + step_line(3, "1e999") + step_line(4, "2.0") +
                                   "{\"event\":\"step\",\"epoch\":0,\"step\":5,\"lo",
                               100);
  REQUIRE(points.size() == 2);
  CHECK(points[0].loss == 4);
  CHECK(points[1].step == 4);
}

TEST_CASE("a curve of a missing file, a pipe, or a terabyte takes no time") {
  const ScratchFolder scratch;
  const fs::path file = scratch.folder() / "metrics.jsonl";
  CHECK(loss_curve(file, 10).empty());
  REQUIRE(mkfifo(file.c_str(), 0600) == 0);
  CHECK(loss_curve(file, 10).empty());
  fs::remove(file);
  scratch.write("metrics.jsonl", step_line(1, "2.5"));
  fs::resize_file(file, std::uintmax_t{1} << 40);
  CHECK(loss_curve(file, 100).size() == 1);
}

TEST_CASE("a sparkline falls as the loss does") {
  CHECK(sparkline({{1, 8}, {2, 4}, {3, 1}}) == "█▄▁");
  CHECK(sparkline({{1, 1}, {2, 1}}) == "▁▁");
  CHECK(sparkline({{1, 1e308}, {2, -1e308}}) == "█▁");
  CHECK(sparkline({{1, 1}}).empty());
}

TEST_CASE("a chart fits its terminal and uses only ASCII if the locale requires it") {
  for (const std::size_t width : {40, 80, 200}) {
    for (const bool utf8 : {false, true}) {
      const std::string text = chart({falling("A", 1), falling("B", 2)}, {.width = width, .cuts = true, .utf8 = utf8});
      std::istringstream in(text);
      for (std::string line; std::getline(in, line);) CHECK(text_width(line) <= width);
      CHECK(text.find('A') != std::string::npos);
      CHECK(text.find('B') != std::string::npos);
      CHECK(text.find('\x1b') == std::string::npos);
      if (utf8) continue;
      for (const char c : text) CHECK(static_cast<unsigned char>(c) < 0x80);
    }
  }
  // A single curve needs no letter and is drawn with dots.
  CHECK(chart({falling("A", 1)}, {}).find('A') == std::string::npos);
}

TEST_CASE("a chart of one point, of equal losses and of huge ones is drawn") {
  for (const auto& points : std::vector<std::vector<CurvePoint>>{
           {{1, 1}}, {{1, 0}, {2, 0}}, {{1, 1e308}, {2, -1e308}}, {{1, 1e-300}, {2, 1e308}}, {{5, 3}, {5, 4}}}) {
    CHECK(contains(chart({{.name = "A", .points = points}}, {}), "step"));
  }
}

}  // namespace ddp::report
