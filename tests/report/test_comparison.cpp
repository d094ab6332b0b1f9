#include "report/select/comparison.h"

#include <algorithm>
#include <sstream>

#include <nlohmann/json.hpp>

#include "base/error.h"
#include "catch.h"
#include "errors.h"
#include "report/read/history.h"
#include "report/text/run_page.h"
#include "scratch_folder.h"
#include "words.h"

namespace ddp::report {
namespace {

Row run(const ScratchFolder& scratch, const std::string& name, const std::string& config, const std::string& metrics) {
  scratch.write(name + "/1/config.toml", "name = \"" + name + "\"\n" + config);
  scratch.write(name + "/1/summary.json", "{\"status\":\"completed\",\"epochs\":2,\"final\":{" + metrics + "}}");
  return {.run = name + "/1", .what = read_run(scratch.folder() / name / "1")};
}

template <class Print>
std::string printed(const Print& print, const Comparison& comparison, std::size_t width = 80) {
  std::ostringstream out;
  print(comparison, out, Terminal{.width = width, .cuts = true});
  return out.str();
}

}  // namespace

TEST_CASE("only values that differ between the runs are compared, and a missing value is null") {
  const ScratchFolder s;
  const Comparison c =
      compare({run(s, "a", "epochs = 2\nloss = \"mse\"\n[optimizer]\nname = \"sgd\"\nlr = 0.1\n", ""),
               run(s, "b", "epochs = 2\n[loss]\nname = \"mse\"\n[optimizer]\nname = \"sgd\"\nlr = 0.1\n", ""),
               run(s, "c", "epochs = 2\nloss = \"mse\"\n[optimizer]\nname = \"adam\"\nlr = 0.2\neps = 1.0\n", "")});
  using config::Value;
  CHECK(c.config == std::vector<ComparisonLine>{{"optimizer.name", {"sgd", "sgd", "adam"}},
                                                {"optimizer.lr", {0.1, 0.1, 0.2}},
                                                {"optimizer.eps", {Value(), Value(), 1.0}}});
}

TEST_CASE("the comparison shows the rule that ended a run, if the other run did all of its steps") {
  const ScratchFolder s;
  Row ended = run(s, "a", "epochs = 2\n", "\"val_loss\":0.5");
  s.write("a/1/summary.json", "{\"status\":\"completed\",\"stopped_by\":\"patience\",\"epochs\":2}");
  ended.what = read_run(s.folder() / "a" / "1");
  const Comparison c = compare({ended, run(s, "b", "epochs = 2\n", "\"val_loss\":0.5")});
  CHECK(c.environment == std::vector<ComparisonLine>{{"stopped_by", {"patience", config::Value()}}});
  CHECK(contains(printed(print_comparison, c), "completed (patience)"));
}

TEST_CASE("two equal runs are reported as equal") {
  const ScratchFolder s;
  const Comparison c =
      compare({run(s, "a", "epochs = 2\n", "\"val_loss\":0.5"), run(s, "b", "epochs = 2\n", "\"val_loss\":0.5")});
  const std::string text = printed(print_difference, c);
  CHECK(contains(text, "the configurations are the same\n"));
  CHECK(contains(text, "the metrics are the same\n"));
  std::ostringstream json;
  print_difference_as_json(c, json);
  const auto read = nlohmann::json::parse(json.str());
  CHECK(read.at("version") == 1);
  CHECK(read.at("config").empty());
  CHECK(read.at("metrics").empty());
}

TEST_CASE("each metric of any run is a column and a line, the losses first and the others by name") {
  const ScratchFolder s;
  const std::string metrics = R"("val_loss":0.5,"val_auroc":0.75,"train_loss":0.25,"val_accuracy":0.625)";
  std::vector<Row> rows{run(s, "a", "epochs = 2\n", metrics), run(s, "b", "epochs = 2\n", R"("val_loss":0.5)")};
  std::ostringstream list;
  print_list(rows, list, Terminal{.width = 200});
  const std::string headers = list.str().substr(0, list.str().find('\n'));
  std::vector<std::size_t> places;
  for (const char* name : {"train_loss", "val_loss", "val_accuracy", "val_auroc", "age"}) {
    places.push_back(headers.find(name));
  }
  CHECK(places.back() != std::string::npos);
  CHECK(std::is_sorted(places.begin(), places.end()));
  CHECK(contains(list.str(), "0.75"));
  std::vector<std::string> lines;
  for (const ComparisonLine& line : compare(std::move(rows)).metrics) lines.push_back(line.first);
  lines.resize(4);
  CHECK(lines == std::vector<std::string>{"train_loss", "val_loss", "val_accuracy", "val_auroc"});
}

TEST_CASE("a difference of metrics has its sign, and integers stay integers") {
  const ScratchFolder s;
  const std::string text = printed(print_difference, compare({run(s, "a", "epochs = 2\n", "\"val_loss\":0.5"),
                                                              run(s, "b", "epochs = 4\n", "\"val_loss\":0.25")}));
  CHECK(contains(text, "  epochs  2  4\n"));
  CHECK(contains(text, "  val_loss  0.5  0.25  -0.25\n"));
}

TEST_CASE("many runs are shown below each other and few beside each other, within the terminal's width") {
  const ScratchFolder s;
  std::vector<Row> runs;
  for (int i = 0; i < 30; ++i) {
    runs.push_back(run(s, "r" + std::to_string(i),
                       "optimizer = { name = \"sgd\", lr = 0." + std::to_string(i + 10) + " }\n", "\"val_loss\":0.5"));
  }
  const Comparison c = compare(runs);
  const std::string text = printed(print_comparison, c);
  CHECK(contains(text, "     optimizer.lr\n"));
  CHECK(contains(text, "  AD          0.39\n"));
  std::istringstream in(text);
  for (std::string line; std::getline(in, line);) CHECK(line.size() <= 80);
  CHECK(letter(0) == "A");
  CHECK(letter(25) == "Z");
  CHECK(letter(26) == "AA");
  CHECK(letter(702) == "AAA");
}

TEST_CASE("a configuration that cannot be read is an error with its name") {
  const ScratchFolder s;
  const std::string huge = "[a]\n" + [] {
    std::string keys;
    for (int i = 0; i < 2000; ++i) keys += "k" + std::to_string(i) + " = 1\n";
    return keys;
  }();
  for (const std::string& config : {std::string("= 3"), std::string(2 << 20, ' '), huge}) {
    CHECK(contains(error_of([&] { compare({run(s, "a", config, ""), run(s, "b", "", "")}); }), "a/1/config.toml"));
  }
}

TEST_CASE("a run's history is its restarts and resumes, found among all other lines") {
  const ScratchFolder scratch;
  const std::string step = "{\"event\":\"step\",\"epoch\":0,\"step\":1,\"loss\":0.5}\n";
  scratch.write(
      "metrics.jsonl",
      step + "{\"event\":\"restart\",\"epoch\":0,\"step\":32,\"restart\":1,\"rank\":1,\"cause\":\"killed\\nlog\"}\n" +
          "{\"event\":\"restart\",\"step\":\"x\"}\n{\"event\":\"re\n" + std::string(3 << 20, 'x') + "\n" + step +
          "{\"event\":\"resume\",\"epoch\":1,\"step\":64,\"changes\":{\"epochs\":[3,5]}}\n{\"event\":\"resume\",\"st");
  const auto points = continuation_points_of(scratch.folder() / "metrics.jsonl");
  REQUIRE(points.size() == 2);
  CHECK(in_words(points[0]) == "after step 32: rank 1: killed");
  CHECK(in_words(points[1]) == "after step 64, epochs 5 for 3");
  CHECK(continuation_points_of(scratch.folder() / "gone").empty());
  std::filesystem::resize_file(scratch.folder() / "metrics.jsonl", std::uintmax_t{1} << 40);
  CHECK_THROWS_AS(continuation_points_of(scratch.folder() / "metrics.jsonl"), Error);
}

}  // namespace ddp::report
