#include <cmath>

#include "catch.h"
#include "tables.h"

namespace ddp::system_test {

TEST_CASE("mistakes in a table are named with file, line and column", "[slow]") {
  const std::string two_lines = "x,y\r\n1,\"a\r\nb\"\r\n\r\n,c\r\n";  // in a quoted cell, and an empty line
  const std::string mse = " }\nloss = { name = \"mse\"";
  struct Case {
    std::string csv, options;
    Words said;
  };
  for (const auto& [csv, options, said] : std::vector<Case>{
           {"x,y\n1,a\noops,b\n", kClassOptions, {"shapes.csv:3: ", "\"x\"", "oops", "categories"}},
           {"x,z\n1,a\n", kClassOptions, {"shapes.csv", "\"y\""}},
           {"x,y\n1,a\n2,\n", kClassOptions, {"shapes.csv:3: ", "\"y\"", "missing"}},
           {two_lines, kClassOptions, {"shapes.csv:5: ", "\"x\"", "missing"}},
           {"0.5,1\n,2\n", "target = \"1\", header = false" + mse, {"shapes.csv:2: ", "\"0\"", "missing"}},
           {"x,y\n1,a\n2,b\n3,c\n", "classes = [\"a\", \"b\"], " + kClassOptions, {"shapes.csv:4: ", "\"y\"", "\"c\""}},
           {"x,y\n1,2\ninf,2\n", kNumberOptions, {"shapes.csv:3: ", "\"x\"", "is inf"}},
           {"x,y\n1,2\n1e999,2\n", kNumberOptions, {"shapes.csv:3: ", "\"x\"", "inf"}},
           {"x,y\n1,2\n1,-inf\n", kNumberOptions, {"shapes.csv:3: ", "\"y\"", "is -inf"}},
           {"x,y\n1,2\n1e300,2\n", kNumberOptions, {"shapes.csv:3", "\"x\"", "float32"}},
           {"x,y\n1e308,2\n-1e308,3\n1e308,4\n",
            "normalise = \"standard\", " + kNumberOptions,
            {"shapes.toml:1", "\"x\""}},
           {"x,y\n1,a\n2,b\n", "target = []" + mse, {"shapes.toml:1", "empty"}},
           {"x,y\n1,2\n1,b\n", kNumberOptions, {"shapes.csv:3: ", "\"y\""}},
           {"y\na\nb\n", kClassOptions, {"shapes.csv", "no column"}},
           {"x,y\n", kClassOptions, {"shapes.csv", "no rows"}},
           {std::string("x,y\n1,a\0b\n0,c\n\0,d\n", 19), kNumberOptions, {"shapes.csv"}},
           {"a;b;y\n1;2;3\n", kNumberOptions, {"\"a;b;y\"", "dataset.delimiter = \";\""}},
           {"a,y\n1,3\n", "target = [\"y\", \"y\"]" + mse, {"\"y\" twice"}},
           {"a,y\nn/a,3\n1,2\n", kNumberOptions, {"dataset.missing_values = [\"\", \"NA\""}},
           {"x,w,y\n1,1,2\n2,-1,3\n", "weights = \"w\", " + kNumberOptions, {"shapes.csv:3: ", "\"w\"", "-1"}},
           {"x,w,y\n1,1,2\n2,,3\n", "weights = \"w\", " + kNumberOptions, {"shapes.csv:3: ", "\"w\"", "missing"}},
           {"x,y\n1,2\n", "weights = \"w\", " + kNumberOptions, {"shapes.csv", "\"w\""}},
           {"x,y,name\n1,2,5\n2,3,6\n3,4,7\n",
            kNumberOptions + " }\nvalidation = { split = 0.3, by = \"nam\"",
            {"shapes.toml:3:34: ", "\"nam\"", "\"name\"?", "\"x\", \"y\", \"name\""}}}) {
    check_table_refused(csv, options, said);
  }
}

TEST_CASE("a column of weights weighs the rows of a table") {
  const ShapesWorkspace w;
  const auto loss_of = [&](const Words& sets) {
    return w.train(joined({"dataset.drop=[]"}, sets)).events("step").at(0).at("loss");
  };
  // The rows have the same weight in the columns "one" and "two".
  std::string csv = text_of(w.folder() / "shapes.csv"), more;
  for (std::size_t begin = 0, end; (end = csv.find('\n', begin)) != std::string::npos; begin = end + 1) {
    more += csv.substr(begin, end - begin) + (begin == 0 ? ",same" : ",2.5") + "\n";
  }
  w.write("shapes.csv", more);
  const double weighted = loss_of({"dataset.weights=\"same\"", "dataset.drop=[\"weight\"]"});
  const double plain = loss_of({"dataset.drop=[\"weight\", \"same\"]"});
  CHECK(std::abs(weighted - plain) < 1e-6);
  CHECK(loss_of({"dataset.weights=\"weight\"", "dataset.drop=[\"same\"]"}) != plain);
}

TEST_CASE("a column of text has one line and its remedy, beside the other mistakes of the file") {
  std::string csv = "sold,x,z,y\n";
  for (int i = 1; i <= 30; ++i) csv += "2020-11-" + std::to_string(i) + (i % 2 ? ",,?,a\n" : ",1,3,b\n");
  check_table_refused(csv, kClassOptions,
                      {"shapes.csv:2: column \"sold\": \"2020-11-1\"", "30 of 30", "shapes.csv:2: column \"x\"",
                       "15 of 30", "dataset.categories", "dataset.missing_values", "dataset.missing = \"mean\""});
}

TEST_CASE("a loss that does not fit the target is refused with the loss that does") {
  check_table_refused("x,y\n1,no\n2,yes\n", kNumberOptions, {"\"y\": \"no\"", "loss = \"cross_entropy\""});
  std::string csv = "x,y\n";
  for (int i = 0; i < 60; ++i) csv += std::to_string(i) + "," + std::to_string(i) + ".5\n";
  const std::string held = kClassOptions + " }\nvalidation = { split = 0.5";
  check_table_refused(csv, held, {"30 cells", "loss = \"mse\""});
  check_table_refused(csv, held + ", stratify = true", {"one sample", "loss = \"mse\""});
  const ShapesWorkspace w;
  w.write("shapes.csv", csv);
  w.done({"plan", "shapes.toml", "--set", "dataset={target=\"y\", categories=[\"x\"], drop=[]}", "--set",
          "validation.split=0.0"},
         {"\"y\" has 60 values in 60"});
  const std::string binary = "target = \"y\" }\nloss = { name = \"bce_with_logits\"";
  check_table_refused("x,y\n1,yes\n2,no\n", binary, {"1 and 0", "loss = \"cross_entropy\""});
  check_table_refused("x,y\n1,1\n2,2\n", binary, {"is neither 0 nor 1"});
}

TEST_CASE("all wrong names of columns are named at their places, with the nearest name") {
  const std::string csv = "age,city,y\n1,b,a\n2,b,c\n";
  check_table_refused(csv, "categories = [\"citty\", \"zip\"], drop = [\"Age\"], " + kClassOptions,
                      {"shapes.toml:1:", "\"citty\"", "\"city\"?", "\"zip\"", "\"Age\"", "\"age\"?"});
  check_table_refused(
      csv, "categories = [\"city\", \"y\"], features = [\"y\", \"age\"], drop = [\"age\"], " + kClassOptions,
      {"shapes.toml:1:", "\"y\" is in dataset.features and in dataset.target",
       "dataset.categories and in dataset.target", "\"age\" is in dataset.drop and in dataset.features"});
}

TEST_CASE("empty cells that are a category are told") {
  const Workspace w;
  w.write("rows.csv", "a,y\nred,1\n,2\nblue,3\n");
  w.write("rows.toml",
          "dataset = { name = \"csv\", path = \"rows.csv\", target = \"y\", categories = [\"a\"], "
          "missing_values = [\"none\"] }\nloss = \"mse\"\n"
          "model = { name = \"mlp\", hidden = [] }\ndevice_pool = [\"cpu\"]\n");
  w.done({"plan", "rows.toml"}, {"\"a\" has empty cells"});
}

TEST_CASE("a column whose points may group thousands is named, and other decimals are not") {
  const Workspace w;
  require_tables();
  w.write("rows.toml",
          "dataset = { name = \"csv\", path = \"rows.csv\", target = \"y\" }\nloss = \"mse\"\n"
          "model = { name = \"mlp\", hidden = [] }\ndevice_pool = [\"cpu\"]\n");
  const auto is_named = [&](const std::string& first, const std::string& second) {
    std::string rows = "x,y\n";
    for (int row = 0; row < 30; ++row) rows += (row % 2 == 0 ? first : second) + "," + std::to_string(row % 7) + "\n";
    w.write("rows.csv", rows);
    return contains(w.done({"plan", "rows.toml"}).err, "\"x\": \"" + first + "\" is read with a decimal point");
  };
  CHECK(is_named("155.683", "499"));
  CHECK(is_named("-15.683", "499"));
  for (const auto& [first, second] :
       {std::pair("155.683", "499.000"), {"0.683", "499"}, {"1155.683", "499"}, {"155.68", "4"}}) {
    INFO(first << " beside " << second);
    CHECK_FALSE(is_named(first, second));
  }
}

TEST_CASE("columns from which nothing is learnt are warnings, each with its column") {
  const Workspace w;
  require_tables();
  std::string rows = "id,x,none,y\n";
  for (int i = 0; i < 30; ++i) rows += std::to_string(i) + "," + std::to_string(i * i % 7) + ",,a\n";
  w.write("rows.csv", rows);
  w.write("rows.toml",
          "dataset = { name = \"csv\", path = \"rows.csv\", target = \"y\", missing = \"zero\" }\n"
          "loss = \"cross_entropy\"\nmodel = { name = \"mlp\", hidden = [] }\ndevice_pool = [\"cpu\"]\n");
  const Outcome plan = w.done({"plan", "rows.toml"}, {"\"y\" has one value", "\"id\" counts the rows",
                                                      "dataset.drop = [\"id\"]", "\"none\" has no value"});
  CHECK_FALSE(contains(plan.err, "the column \"x\""));
  const Outcome dropped = w.run({"plan", "rows.toml", "--set", "dataset.drop=[\"id\", \"none\"]"});
  CHECK_FALSE(contains(dropped.err, "the column"));
}

TEST_CASE("a row that missing = \"drop\" leaves out needs no target and no known class") {
  const ShapesWorkspace w;
  w.write("shapes.csv", "x,y\n1,a\n2,b\n,\n,c\n3,a\n4,b\n");
  w.write("shapes.toml",
          "dataset = { name = \"csv\", path = \"shapes.csv\", missing = \"drop\", " + kClassOptions +
              " }\nmodel = { name = \"mlp\", hidden = [8] }\nbatch_size = 4\ndevice_pool = [\"cpu\"]\nthreads = 1\n");
  const Outcome plan = w.done({"plan", "shapes.toml", "--json"});
  CHECK(Json::parse(plan.out).at("data").at("sets").at(0).at("samples") == 4);
  w.write("shapes.csv", "x,y\n1,1\n2,2\n,\n3,1\n4,2\n");
  w.done({"plan", "shapes.toml", "--set", "loss=mse"});
  // A category that only left-out rows have is not unknown.
  w.write("shapes.csv", "x,c,y\n1,u,a\n,v,b\n,v,b\n,v,a\n2,u,b\n");
  const Outcome most = w.done({"plan", "shapes.toml", "--set", "dataset.categories=[\"c\"]"}, {"3 of 5 rows"});
  CHECK_FALSE(contains(most.err, "which the training rows do not have"));
  w.write("shapes.csv", "x,y\n1,a\n2,b\n3,\n");
  CHECK(contains(w.run({"plan", "shapes.toml"}).err, "shapes.csv:4: column \"y\": is missing"));
}

TEST_CASE("cells that cannot be trained on are named with their line and file, in each of several files") {
  const ShapesWorkspace w;
  w.write("a.jsonl", "{\"x\": 1, \"y\": 2}\n\n{\"x\": null, \"y\": 2}\n{\"x\": 3, \"y\": 2}\n");
  w.write("b.jsonl", "{\"x\": 1, \"y\": 2}\n{\"x\": 2, \"y\": null}\n{\"y\": 1}\n");
  w.write("lines.toml",
          "dataset = { name = \"jsonl\", path = [\"a.jsonl\", \"b.jsonl\"], target = \"y\" }\nloss = \"mse\"\n"
          "model = { name = \"mlp\", hidden = [8] }\nbatch_size = 2\ndevice_pool = [\"cpu\"]\nthreads = 1\n");
  const Outcome outcome = w.refused({"run", "lines.toml"}, {});
  const std::size_t first = outcome.err.find("a.jsonl:3: column \"x\"");
  const std::size_t second = outcome.err.find("b.jsonl:2: column \"y\"");
  const std::size_t third = outcome.err.find("b.jsonl:3: column \"x\"");
  REQUIRE(third != std::string::npos);
  CHECK(first < second);
  CHECK(second < third);
}

TEST_CASE("a further file with other columns is refused with the first one that differs") {
  const ShapesWorkspace w;
  const auto answer = [&](const std::string& first_line) {
    w.write("other.csv", first_line + "\n1,2,red,flat,4\n");
    const Outcome plan =
        w.refused({"plan", "shapes.toml", "--set", "dataset.path=[\"shapes.csv\", \"other.csv\"]"}, {});
    return plan.err;
  };
  CHECK(contains(answer("width,height,color,kind,mass"), "other.csv: has the column \"color\" where "));
  CHECK(contains(answer("width,height,colour,kind"), "other.csv: has 4 columns, but "));
}

}  // namespace ddp::system_test
