#include <sys/resource.h>
#include <unistd.h>
#include <algorithm>
#include <sstream>

#include "catch.h"
#include "predicting.h"
#include "tables.h"

namespace ddp::system_test {
namespace fs = std::filesystem;

TEST_CASE("predict writes one row per input in order, the same on any number of ranks", "[slow]") {
  const Trained t;
  // More than one block per rank, and a short one at the end.
  t.write_many(21);
  const std::string all = t.predicted({"many.csv"});
  const auto lines = lines_of(all);
  REQUIRE(lines.size() == 21001);
  CHECK(lines[0] == "prediction,probability_flat,\"probability_round, \"\"very\"\"\",probability_tall");
  // Copies of a row have equal predictions, up to the batch that contains them.
  CHECK(std::any_of(lines.begin(), lines.end(),
                    [](const auto& l) { return l.starts_with("\"round, \"\"very\"\"\",0."); }));
  CHECK(std::any_of(lines.begin(), lines.end(), [](const auto& l) { return l.starts_with("tall,0."); }));
  std::string first_parquet;
  for (const std::string& pool : kPools) {
    INFO(pool);
    CHECK(t.predicted({"many.csv", "--set", pool}) == all);
    CHECK(t.predicted({"many.csv", "-o", "out.csv", "--set", pool}).empty());
    CHECK(text_of(t.folder() / "out.csv") == all);
    CHECK(t.predicted({"many.csv", "-o", "out.npy", "--set", pool}).empty());
    const std::string npy = text_of(t.folder() / "out.npy");
    REQUIRE(npy.size() == 128 + 21000 * 3 * sizeof(float));
    CHECK(contains(npy.substr(0, 128), "'<f4', 'fortran_order': False, 'shape': (21000, 3)"));
    CHECK(t.predicted({"many.csv", "-o", "out.parquet", "--set", pool}).empty());
    const std::string parquet = text_of(t.folder() / "out.parquet");
    REQUIRE(parquet.size() > 8);
    CHECK((parquet.substr(0, 4) == "PAR1" && parquet.substr(parquet.size() - 4) == "PAR1"));
    if (first_parquet.empty()) first_parquet = parquet;
    CHECK(parquet == first_parquet);
  }
}

TEST_CASE("predict --keep copies columns in front of the results, cell by cell, on any number of ranks") {
  const Trained t;
  const std::string rows = "width,height,colour,id\n1,2,red,007\n3,1,,\"a, \"\"b\"\"\nc\"\n2,2,blue,\n";
  t.write("rows.csv", rows);
  std::string shapes = shapes_csv(9000, 4);  // more than one block
  t.write("many.csv", shapes);
  for (const std::string& pool : kPools) {
    const std::string plain = t.predicted({"rows.csv", "--set", pool});
    const auto results = lines_of(plain);
    CHECK(t.predicted({"rows.csv", "--keep", "id,colour", "--set", pool}) ==
          "id,colour," + results[0] + "\n007,red," + results[1] + "\n\"a, \"\"b\"\"\nc\",," + results[2] + "\n,blue," +
              results[3] + "\n");
    const auto many = lines_of(t.predicted({"many.csv", "--keep", "width", "--set", pool}));
    const auto given = lines_of(shapes);
    REQUIRE(many.size() == given.size());
    for (std::size_t i = 0; i < many.size(); ++i) {
      const std::size_t end = many[i].find(',');
      if (many[i].substr(0, end) != given[i].substr(0, given[i].find(','))) FAIL(i << ": " << many[i]);
    }
  }
  t.write("zero.csv", std::string("width,height,colour,id\n1,2,red,a\n1,2,red,a\0b\n", 43));
  t.check_fails(2, {"zero.csv", "--keep", "id"}, {"zero.csv:3", "column \"id\"", "zero byte"});
  t.check_fails(2, {"rows.csv", "--keep", "id", "-o", "out.npy"}, {"--keep", ".npy"});
  t.check_fails(2, {"rows.csv", "--keep", "idd"}, {"has no column \"idd\"", "did you mean \"id\"?"});
  t.check_fails(2, {"rows.csv", "--keep", "id,id"}, {"--keep", "twice"});
}

TEST_CASE("predict ignores a target column, takes columns by their names, and joins files") {
  const Trained t;
  const auto with_target = lines_of(t.predicted({"shapes.csv"}));
  std::string bare = "colour,note,height,width\n", kinds;
  std::istringstream rows(shapes_csv(203));
  std::string line;
  std::getline(rows, line);
  while (std::getline(rows, line)) {
    std::istringstream cells(line);
    std::string width, height, colour;
    std::getline(cells, width, ',');
    std::getline(cells, height, ',');
    std::getline(cells, colour, ',');
    bare += colour + ",some text," + height + "," + width + "\n";
  }
  t.write("bare.csv", bare);
  CHECK(lines_of(t.predicted({"bare.csv"})) == with_target);
  const auto twice = lines_of(t.predicted({"shapes.csv", "bare.csv"}));
  REQUIRE(twice.size() == 2 * 203 + 1);
  t.write("part-2.csv", text_of(t.folder() / "bare.csv"));
  t.write("part-1.csv", text_of(t.folder() / "shapes.csv"));
  CHECK(lines_of(t.predicted({"part-*.csv"})) == twice);
  t.check_fails(2, {"no-*.csv"}, {"no-*.csv", "no file matches"});
}

TEST_CASE("predict reads a table in another format than the run's, chosen by its ending") {
  const Trained t;
  const auto rows = lines_of(shapes_csv(203));
  std::string jsonl, tsv = "width\theight\tcolour\n";
  for (std::size_t i = 1; i < rows.size(); ++i) {
    std::istringstream cells(rows[i]);
    std::string width, height, colour;
    std::getline(cells, width, ',');
    std::getline(cells, height, ',');
    std::getline(cells, colour, ',');
    jsonl += "{\"colour\": \"" + colour + "\", \"width\": " + std::to_string(std::stod(width)) +
             ", \"height\": " + std::to_string(std::stod(height)) + "}\n";
    tsv += width + "\t" + height + "\t" + colour + "\n";
  }
  t.write("shapes.jsonl", jsonl);
  t.write("shapes.tsv", tsv);
  const std::string from_csv = t.predicted({"shapes.csv"});
  CHECK(t.predicted({"shapes.jsonl"}) == from_csv);
  CHECK(t.predicted({"shapes.tsv"}) == from_csv);
}

TEST_CASE("predict refuses a table with another delimiter") {
  const Trained t;
  t.write("semicolons.csv", "width;height;colour\n1;2;red\n");
  t.check_fails(2, {"semicolons.csv"},
                {"semicolons.csv: has no columns \"width\"", "its columns: \"width;height;colour\""});
  CHECK(lines_of(t.predicted({"semicolons.csv", "--set", "dataset.delimiter=\";\""})).size() == 2);
}

TEST_CASE("predict reverts normalise_targets") {
  const Trained t(
      {R"(dataset={name="csv", path="shapes.csv", target=["weight", "width"], features=["height"], categories=[]})",
       R"(dataset.normalise_targets=true)", R"(loss="mse")", "epochs=1"});
  const auto lines = lines_of(t.predicted({"shapes.csv"}));
  REQUIRE(lines.size() == 204);
  CHECK(lines[0] == "prediction_weight,prediction_width");
  double sum = 0;
  for (std::size_t i = 1; i < lines.size(); ++i) sum += std::stod(lines[i]);
  // Around the mean of the weights, not around 0.
  CHECK(sum / 203 > 10);
}

TEST_CASE("predict names all outputs of a model that has more outputs than classes") {
  const Trained t({"model.out_features=5", "epochs=1"});
  for (const std::string& line : lines_of(t.predicted({"shapes.csv"}))) {
    std::string bare = line;
    if (const auto quote = line.find("very"); quote != std::string::npos) bare.erase(line.find("round, "), 6);
    INFO(line);
    CHECK(std::count(bare.begin(), bare.end(), ',') == 5);
  }
}

TEST_CASE("an input with only a header gives only a header") {
  const Trained t;
  t.write("none.csv", "width,height,colour\n");
  const std::string header = lines_of(t.predicted({"shapes.csv"})).at(0) + "\n";
  for (const std::string& pool : kPools) {
    CHECK(t.predicted({"none.csv", "--set", pool}) == header);
    t.predicted({"none.csv", "-o", "none.npy", "--set", pool});
    const std::string npy = text_of(t.folder() / "none.npy");
    CHECK(npy.size() == 128);
    CHECK(contains(npy, "'shape': (0, 3)"));
  }
}

TEST_CASE("an input that predict cannot read is named with file, line and column, and leaves nothing", "[slow]") {
  const Trained t;
  t.write("bad.csv", "width,height,colour\n1,2,red\n1,abc,red\n");
  t.write("narrow.csv", "width,colour\n1,red\n");
  t.write("ragged.csv", "width,height,colour\n1,2,red\n1,2\n");
  t.write("missing.csv", "width,height,colour\n1,2,red\n,2,red\n");
  t.write("blank.csv", "");
  fs::create_directory(t.folder() / "folder.csv");
  for (const std::string& pool : kPools) {
    for (const Words& out : {Words{}, {"-o", "x.csv"}, {"-o", "x.npy"}, {"-o", "x.parquet"}}) {
      const auto fails = [&](const std::string& input, const Words& words) {
        const Words arguments = joined({input, "--set", pool}, out);
        t.check_fails(2, arguments, words);
      };
      fails("bad.csv", {"bad.csv", "3", "\"height\"", "abc"});
      fails("missing.csv", {"missing.csv", "\"width\"", "missing"});
      if (!out.empty()) continue;
      fails("narrow.csv", {"narrow.csv", "\"height\""});
      fails("ragged.csv", {"ragged.csv", "3"});
      fails("blank.csv", {"blank.csv", "empty"});
      fails("folder.csv", {"folder.csv"});
      fails("there is none.csv", {"there is none.csv"});
    }
  }
}

TEST_CASE("predict names what its input lacks and remedies that need no other training, and writes nothing") {
  const Trained t;
  t.write("gap.csv", "width,height,colour\n,2,red\n");
  t.write("word.csv", "width,height,colour\nforty,2,red\n1,2,red\n1,2,red\n");
  t.write("case.csv", "Width,Height,Colour\n1,2,red\n");
  t.check_fails(2, {"gap.csv"}, {"gap.csv:2: column \"width\": is missing", "fill these cells in the file"});
  t.check_fails(2, {"word.csv"}, {"word.csv:2: column \"width\": \"forty\" is not a number", "correct these cells"});
  t.check_fails(2, {"case.csv"}, {"has no columns \"width\"", "its columns: \"Width\", \"Height\", \"Colour\""});
  for (const std::string file : {"gap.csv", "word.csv", "case.csv"}) {
    CHECK(t.run({"predict", "shapes", file}).out.empty());
  }
  for (const std::string word : {"dataset.categories", "\"drop\""}) {
    CHECK_FALSE(contains(t.run({"predict", "shapes", "word.csv"}).err, word));
    CHECK_FALSE(contains(t.run({"predict", "shapes", "gap.csv"}).err, word));
  }
}

TEST_CASE("predict warns of unknown categories with their column and values, and names no rank") {
  const Trained t;
  t.write("new.csv", "width,height,colour\n1,2,pink\n1,2,mauve\n1,2,pink\n");
  const Outcome outcome =
      t.done({"predict", "shapes", "new.csv"},
             {"warning: column \"colour\": 3 cells hold \"pink\", \"mauve\", which the training rows do not have"});
  CHECK_FALSE(contains(outcome.err, "rank"));
}

TEST_CASE("commands that use a trained model refuse --set of keys that they cannot use, and name the others") {
  const Trained t;
  for (const std::string set : {"epochs=3", "model.hidden=[3]", "optimizer.lr=1", "dataset.target=\"weight\""}) {
    t.check_fails(2, {"shapes.csv", "--set", set}, {"--set " + set});
    t.refused({"eval", "shapes", "--set", set}, {"--set " + set});
  }
  t.check_fails(2, {"shapes.csv", "--set", "epochs=3"},
                {"takes these keys: batch_size, dataset", ", model.path, model.eval"});
  CHECK(contains(t.run({"predict", "--help"}).out, "batch_size, dataset"));
  t.predicted({"shapes.csv", "--set", "batch_size=3", "--set", "threads=1", "--set", "precision=bf16"});
}

}  // namespace ddp::system_test
