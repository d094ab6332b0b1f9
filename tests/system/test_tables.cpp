#include <regex>

#include "catch.h"
#include "tables.h"

namespace ddp::system_test {
namespace fs = std::filesystem;

TEST_CASE("a run on a table that is killed inside an epoch and resumed has the same bits") {
  const ShapesWorkspace w(403);
  w.write("shapes.toml", kShapes + "save_every_steps = 4\n");
  const auto [killed, whole] = kill_and_resume(w, "shapes");
  const char* kept = "checkpoints/latest/preprocessing.json";
  CHECK(text_of(killed.path() / kept) == text_of(whole.path() / kept));
}

TEST_CASE("a run that drops short batches and is killed inside an epoch resumes to the same bits, all batches whole") {
  const ShapesWorkspace w(403);
  w.write("shapes.toml", kShapes + "save_every_steps = 4\n");
  const auto [killed, whole] = kill_and_resume(w, "shapes", {"loader.drop_last_batch=true"});
  // 323 rows train, 162 on each rank: 20 batches of 8; a short one would be the 21st.
  CHECK(whole.events("epoch").at(0).at("step") == 20);
  for (const Json& step : whole.events("step")) CHECK(step.at("samples") == 16);
}

TEST_CASE("the same rows have the same bits as CSV, TSV, JSON lines, and in several files") {
  const ShapesWorkspace w;
  const std::string model = w.train().model();
  const std::string csv = shapes_csv(203);
  std::string tsv = csv, json, second = csv;
  tsv = std::regex_replace(tsv, std::regex("(round),"), "$1#");
  std::replace(tsv.begin(), tsv.end(), ',', '\t');
  std::replace(tsv.begin(), tsv.end(), '#', ',');
  w.write("shapes.tsv", tsv);
  const std::regex row(R"re(([^,\n]+),([^,\n]+),([a-z]+),(?:"round, ""very"""|([a-z]+)),([^,\n]+)\n)re");
  for (std::sregex_iterator cells(csv.begin() + static_cast<std::ptrdiff_t>(csv.find('\n') + 1), csv.end(), row), end;
       cells != end; ++cells) {
    const std::string kind = (*cells)[4].matched ? (*cells)[4].str() : R"(round, \"very\")";
    json += "{\"width\": " + (*cells)[1].str() + ", \"height\": " + (*cells)[2].str() + ", \"colour\": \"" +
            (*cells)[3].str() + "\", \"kind\": \"" + kind + "\", \"weight\": " + (*cells)[5].str() + "}\n";
  }
  w.write("shapes.jsonl", json);
  CHECK(w.train({R"(dataset.path="shapes.tsv")"}).model() == model);
  // Cut in two after a row.
  const std::size_t head = csv.find('\n') + 1;
  const std::size_t cut = csv.find('\n', csv.size() / 2) + 1;
  w.write("part-1.csv", csv.substr(0, cut));
  w.write("part-2.csv", csv.substr(0, head) + csv.substr(cut));
  CHECK(w.train({R"(dataset.path="part-*.csv")"}).model() == model);
  CHECK(w.train({R"(dataset.path=["part-1.csv", "part-2.csv"])"}).model() == model);
  // As Windows writes it: a byte order mark, and lines that end with CR LF.
  std::string windows = "\xEF\xBB\xBF" + std::regex_replace(csv, std::regex("\n"), "\r\n");
  w.write("windows.csv", windows);
  CHECK(w.train({R"(dataset.path="windows.csv")"}).model() == model);
  w.write("shapes.toml", std::regex_replace(kShapes, std::regex("csv"), "jsonl"));
  CHECK(w.train().model() == model);
}

TEST_CASE("the largest errors of a table name their rows by its id column, from every copy of the data") {
  const ShapesWorkspace w(40);
  std::istringstream lines(shapes_csv(40));
  std::string with_ids, line;
  for (int row = -1; std::getline(lines, line); ++row) {
    with_ids += (row < 0 ? "row_id" : row == 7 ? "" : "ä" + std::to_string(row)) + "," + line + "\n";
  }
  w.write("shapes.csv", with_ids);
  // Nothing is learnt, and all rows are measured: nearly all classes are wrong.
  const RunFolder run = w.train(
      {"dataset.drop=[\"row_id\"]", "optimizer.lr=0", "validation.split=0", "validation.dataset.path=\"shapes.csv\""});
  const Json worst = json_of(run.path() / "evaluation.json").at("validation").at("worst");
  REQUIRE(worst.at("row").size() == 10);
  for (std::size_t i = 0; i < 10; ++i) {
    const int row = worst.at("row").at(i);
    CHECK(worst.at("id").at(i) == (row == 7 ? "(missing)" : "ä" + std::to_string(row)));
  }
}

TEST_CASE("odd tables that are well-formed train", "[slow]") {
  const ShapesWorkspace w;
  const auto trains = [&](const std::string& csv, const std::string& options) {
    w.write("odd.csv", csv);
    w.write("odd.toml", "dataset = { name = \"csv\", path = \"odd.csv\", " + options +
                            " }\nmodel = { name = \"mlp\", hidden = [2] }\nbatch_size = 8\ndevice_pool = [\"cpu\", "
                            "\"cpu\"]\nthreads = 1\n");
    const Outcome outcome = w.done({"run", "odd.toml"});
    return outcome.run;
  };
  SECTION("one row") { trains("x,y\n1,a\n", kClassOptions + ", label_smoothing = 0.0"); }
  SECTION("no line feed at the end") { trains("x,y\n1,2\n2,3", kNumberOptions); }
  SECTION("names with characters beyond ASCII") {
    const RunFolder run = trains("größe,y\n1,ä\n2,日本\n", kClassOptions);
    CHECK(json_of(run.path() / "checkpoints/latest/preprocessing.json").at("classes") == Json({"ä", "日本"}));
  }
  SECTION("a cell of a megabyte") { trains("x,y\n1," + std::string(1 << 20, 'a') + "\n2,b\n", kClassOptions); }
  SECTION("numbers that are one class though they are written in two ways") {
    const RunFolder run = trains("x,y\n1,1\n2,1.0\n3,10\n4,2\n5,1e0\n", kClassOptions);
    CHECK(json_of(run.path() / "checkpoints/latest/preprocessing.json").at("classes") == Json({"1", "2", "10"}));
  }
  SECTION("whole numbers that are equal as doubles are different classes") {
    const RunFolder run =
        trains("x,y\n1,9007199254740993\n2,9007199254740992\n3,-3\n4,9007199254740992.0\n5,1e3\n", kClassOptions);
    CHECK(json_of(run.path() / "checkpoints/latest/preprocessing.json").at("classes") ==
          Json({"-3", "1000", "9007199254740992", "9007199254740993"}));
  }
  SECTION("ten thousand columns") {
    std::string head, row;
    for (int column = 0; column < 10000; ++column) {
      head += "c" + std::to_string(column) + ",";
      row += std::to_string(column % 7) + ",";
    }
    trains(head + "y\n" + row + "1\n" + row + "2\n", kNumberOptions);
  }
  SECTION("columns without values") {
    trains("x,e,y\n1,,2\n2,NA,3\n3,nan,4\n", "missing = \"mean\", normalise = \"standard\", " + kNumberOptions);
  }
}

TEST_CASE("a file that changes or disappears while its rows train has no effect") {
  const ShapesWorkspace w;
  const auto process = w.start({"run", "shapes.toml", "--set", "epochs=100000"});
  const RunFolder run = w.running(*process, "shapes", 12);
  w.write("shapes.csv", "width\n");
  const std::int64_t step = run.last_step();
  REQUIRE(wait_until([&] { return run.last_step() > step + 10; }, process->pid()));
  process->signal(SIGINT);
  CHECK(process->wait() == 130);
}

}  // namespace ddp::system_test
