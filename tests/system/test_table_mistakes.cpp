#include "catch.h"
#include "tables.h"

namespace ddp::system_test {

TEST_CASE("mistakes in a table are named with file, line and column", "[slow]") {
  check_table_refused("x,y\n1,a\noops,b\n", kClassOptions, {"shapes.csv", "3", "\"x\"", "oops", "categories"});
  check_table_refused("x,y\n1,a\n2\n", kClassOptions, {"shapes.csv", "3"});
  check_table_refused("x,x,y\n1,2,a\n", kClassOptions, {"shapes.csv", "\"x\""});
  check_table_refused("x,z\n1,a\n", kClassOptions, {"shapes.csv", "\"y\""});
  check_table_refused("x,y\n1,a\n,b\n", kClassOptions, {"shapes.csv:3: column \"x\": is missing"});
  check_table_refused("x,y\n1,a\n2,\n", kClassOptions, {"shapes.csv:3: column \"y\": is missing"});
  // A quoted cell over two lines, an empty line, and lines that end with CR LF.
  check_table_refused("x,y\r\n1,\"a\r\nb\"\r\n\r\n,c\r\n", kClassOptions, {"shapes.csv:5: column \"x\": is missing"});
  check_table_refused("0.5,1\n,2\n", "target = \"1\", header = false }\nloss = { name = \"mse\"",
                      {"shapes.csv:2: column \"0\": is missing"});
  check_table_refused("x,y\n1,a\n2,b\n3,c\n", "classes = [\"a\", \"b\"], " + kClassOptions,
                      {"shapes.csv:4: column \"y\": is \"c\", a class that dataset.classes does not name"});
  check_table_refused("x,y\n1,2\ninf,2\n", kNumberOptions, {"shapes.csv:3: column \"x\": is inf"});
  check_table_refused("x,y\n1,2\n1e999,2\n", kNumberOptions, {"shapes.csv", "\"x\"", "inf"});
  check_table_refused("x,y\n1,2\n1,-inf\n", kNumberOptions, {"shapes.csv:3: column \"y\": is -inf"});
  check_table_refused("x,y\n1,2\n1e300,2\n", kNumberOptions, {"shapes.csv:3", "\"x\"", "too large for a float32"});
  check_table_refused("x,y\n1e308,2\n-1e308,3\n1e308,4\n", "normalise = \"standard\", " + kNumberOptions,
                      {"shapes.toml:1", "\"x\"", "cannot be normalised"});
  check_table_refused("x,y\n1,a\n2,b\n", "target = [] }\nloss = { name = \"mse\"", {"shapes.toml:1", "is empty"});
  check_table_refused("x,y\n1,2\n1,b\n", kNumberOptions, {"shapes.csv", "3", "\"y\""});
  check_table_refused("x,y\n1,\"a\n2,b\n", kClassOptions, {"shapes.csv"});
  check_table_refused("y\na\nb\n", kClassOptions, {"shapes.csv", "no column"});
  check_table_refused("", kClassOptions, {"shapes.csv", "empty"});
  check_table_refused("x,y\n", kClassOptions, {"shapes.csv", "no rows"});
  check_table_refused("x,y\n1,\xff\xfe\n", kClassOptions, {"shapes.csv", "UTF-8"});
  check_table_refused(std::string("x,y\n1,a\0b\n0,c\n\0,d\n", 19), kNumberOptions, {"shapes.csv"});
}

TEST_CASE("an unknown column of validation.by points at its key") {
  check_table_refused(
      "x,y,name\n1,2,5\n2,3,6\n3,4,7\n", kNumberOptions + " }\nvalidation = { split = 0.3, by = \"nam\"",
      {"shapes.toml:3:34: ", "shapes.csv has no column \"nam\"\n", "its columns: \"x\", \"y\", \"name\""});
}

TEST_CASE("a column of text has one line and its remedy, beside the other mistakes of the file") {
  std::string csv = "sold,x,z,y\n";
  for (int i = 1; i <= 30; ++i) csv += "2020-11-" + std::to_string(i) + (i % 2 ? ",,?,a\n" : ",1,3,b\n");
  check_table_refused(
      csv, kClassOptions,
      {"shapes.csv:2: column \"sold\": 30 of 30 cells are not numbers, the first is \"2020-11-1\"",
       "shapes.csv:2: column \"x\": 15 of 30 cells are missing", "turn dates into numbers first",
       "column \"z\": add the marks of missing cells to dataset.missing_values", "dataset.missing = \"mean\""});
}

TEST_CASE("numbers with decimal commas are refused with the way to write them") {
  check_table_refused("x,y\n\"7,5\",a\n\"-8,25\",b\n", kClassOptions,
                      {"write decimal points in place of decimal commas"});
}

TEST_CASE("a loss that does not fit the target is refused with the loss that does") {
  check_table_refused(
      "x,y\n1,no\n2,yes\n", kNumberOptions,
      {"column \"y\": \"no\" is not a number", "the loss mse needs numbers: give loss = \"cross_entropy\""});
  check_table_refused("x,y\n1,2\n", "target = \"y\" }\n#{", {"\"mse\" for numbers"});
  std::string csv = "x,y\n";
  for (int i = 0; i < 60; ++i) csv += std::to_string(i) + "," + std::to_string(i) + ".5\n";
  const std::string held = kClassOptions + " }\nvalidation = { split = 0.5";
  check_table_refused(csv, held, {"30 cells are classes that", "to predict a number, give loss = \"mse\""});
  check_table_refused(csv, held + ", stratify = true", {"only one sample", "to predict a number, give loss = \"mse\""});
  const ShapesWorkspace w;
  w.write("shapes.csv", csv);
  const Outcome plan = w.run({"plan", "shapes.toml", "--set", "dataset={target=\"y\", categories=[\"x\"], drop=[]}",
                              "--set", "validation.split=0.0"});
  INFO(plan.err);
  CHECK(plan.code == 0);
  CHECK(contains(plan.err, "the target \"y\" has 60 values in 60 training rows"));
  CHECK(contains(plan.err, "the category \"x\" has 60 values in 60 training rows"));
}

TEST_CASE("all wrong names of columns are named at their places, with the nearest name") {
  const std::string csv = "age,city,y\n1,b,a\n2,b,c\n";
  check_table_refused(csv, "categories = [\"citty\", \"zip\"], drop = [\"Age\"], " + kClassOptions,
                      {"shapes.toml:1:", "\"citty\", which dataset.categories names; did you mean \"city\"?",
                       "no column \"zip\"", "\"Age\", which dataset.drop names; did you mean \"age\"?"});
  check_table_refused(csv,
                      "categories = [\"city\", \"y\"], features = [\"y\", \"age\"], drop = [\"age\"], " + kClassOptions,
                      {"shapes.toml:1:", "column \"y\" is in dataset.features and in dataset.target",
                       "column \"y\" is in dataset.categories and in dataset.target",
                       "column \"age\" is in dataset.drop and in dataset.features"});
}

TEST_CASE("a category that is no feature is a warning, so that features can be tried one after the other") {
  const ShapesWorkspace w;
  const Outcome plan = w.run({"plan", "shapes.toml", "--set", "dataset.features=[\"width\"]"});
  CHECK(plan.code == 0);
  CHECK(contains(plan.err, "the category \"colour\" has no effect: dataset.features does not name it"));
}

TEST_CASE("large targets are a warning that names the key which normalises them") {
  const Workspace w;
  require_tables();
  w.write("houses.csv", "rooms,price\n1,250000\n2,310000\n3,420000\n4,510000\n");
  w.write("houses.toml",
          "dataset = { name = \"csv\", path = \"houses.csv\", target = \"price\" }\nloss = \"mse\"\n"
          "model = { name = \"mlp\", hidden = [] }\ndevice_pool = [\"cpu\"]\n");
  CHECK(contains(w.run({"plan", "houses.toml"}).err, "dataset.normalise_targets = true trains on a small scale"));
  CHECK(w.run({"plan", "houses.toml", "--set", "dataset.normalise_targets=true"}).err.empty());
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
  const Outcome plan = w.run({"plan", "rows.toml"});
  INFO(plan.err);
  CHECK(plan.code == 0);
  CHECK(contains(plan.err, "the target \"y\" has one value in all training rows, \"a\""));
  CHECK(contains(plan.err, "the column \"id\" counts the rows"));
  CHECK(contains(plan.err, "dataset.drop = [\"id\"]"));
  CHECK(contains(plan.err, "the column \"none\" has no value in any row"));
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
  const Outcome plan = w.run({"plan", "shapes.toml", "--json"});
  INFO(plan.err);
  REQUIRE(plan.code == 0);
  CHECK(Json::parse(plan.out).at("data").at("sets").at(0).at("samples") == 4);
  w.write("shapes.csv", "x,y\n1,1\n2,2\n,\n3,1\n4,2\n");
  CHECK(w.run({"plan", "shapes.toml", "--set", "loss=mse"}).code == 0);
  // A category that only left-out rows have is not unknown.
  w.write("shapes.csv", "x,c,y\n1,u,a\n,v,b\n,v,b\n,v,a\n2,u,b\n");
  const Outcome most = w.run({"plan", "shapes.toml", "--set", "dataset.categories=[\"c\"]"});
  CHECK(most.code == 0);
  CHECK(contains(most.err, "missing = \"drop\" leaves out 3 of 5 rows"));
  CHECK_FALSE(contains(most.err, "which the training rows do not have"));
  w.write("shapes.csv", "x,y\n1,a\n2,b\n3,\n");
  CHECK(contains(w.run({"plan", "shapes.toml"}).err, "shapes.csv:4: column \"y\": is missing"));
}

TEST_CASE("words as targets of bce_with_logits are refused with both remedies") {
  check_table_refused("x,y\n1,yes\n2,no\n", "target = \"y\" }\nloss = { name = \"bce_with_logits\"",
                      {"needs numbers: write 1 and 0, or give loss = \"cross_entropy\""});
}

TEST_CASE("numbers that are neither 0 nor 1 for bce_with_logits are refused with both remedies") {
  check_table_refused("x,y\n1,1\n2,2\n", "target = \"y\" }\nloss = { name = \"bce_with_logits\"",
                      {"is neither 0 nor 1", "write 0 and 1 in the file, or give loss = \"cross_entropy\""});
}

TEST_CASE("nll of outputs that are no logarithms of probabilities is a warning that names cross_entropy") {
  const ShapesWorkspace w;
  CHECK(
      contains(w.run({"plan", "shapes.toml", "--set", "loss=nll"}).err, "loss = \"cross_entropy\" takes any outputs"));
  CHECK(w.run({"plan", "shapes.toml"}).err.empty());
}

TEST_CASE("a model of fixed size that does not fit a table is refused with one that takes its sizes from the data") {
  const ShapesWorkspace w;
  const Outcome outcome = w.run({"plan", "shapes.toml", "--set", "model=\"linear\""});
  CHECK(outcome.code == 2);
  CHECK(contains(outcome.err, "model = { name = \"mlp\", hidden = [] }"));
}

TEST_CASE("cells that cannot be trained on are named with their line and file, in each of several files") {
  const ShapesWorkspace w;
  w.write("a.jsonl", "{\"x\": 1, \"y\": 2}\n\n{\"x\": null, \"y\": 2}\n{\"x\": 3, \"y\": 2}\n");
  w.write("b.jsonl", "{\"x\": 1, \"y\": 2}\n{\"x\": 2, \"y\": null}\n{\"y\": 1}\n");
  w.write("lines.toml",
          "dataset = { name = \"jsonl\", path = [\"a.jsonl\", \"b.jsonl\"], target = \"y\" }\nloss = \"mse\"\n"
          "model = { name = \"mlp\", hidden = [8] }\nbatch_size = 2\ndevice_pool = [\"cpu\"]\nthreads = 1\n");
  const Outcome outcome = w.run({"run", "lines.toml"});
  INFO(outcome.err);
  CHECK(outcome.code == 2);
  const std::size_t first = outcome.err.find("a.jsonl:3: column \"x\": is missing");
  const std::size_t second = outcome.err.find("b.jsonl:2: column \"y\": is missing, but it is the target");
  const std::size_t third = outcome.err.find("b.jsonl:3: column \"x\": is missing");
  REQUIRE(third != std::string::npos);
  CHECK(first < second);
  CHECK(second < third);
}

TEST_CASE("several mistakes are reported in the order of their lines, with their remedies") {
  const ShapesWorkspace w;
  w.write("shapes.csv", "x,y\n1,b\n2,a\n,a\n");
  w.write("shapes.toml",
          "dataset = { name = \"csv\", path = \"shapes.csv\", target = \"y\", classes = [\"a\"] }\n"
          "model = { name = \"mlp\", hidden = [8] }\nloss = \"cross_entropy\"\ndevice_pool = [\"cpu\"]\n");
  const Outcome outcome = w.run({"plan", "shapes.toml"});
  INFO(outcome.err);
  CHECK(outcome.code == 2);
  CHECK(contains(outcome.err, "shapes.csv:2: column \"y\""));
  CHECK(contains(outcome.err, "shapes.csv:4: column \"x\""));
  CHECK(contains(outcome.err, "dataset.classes"));
  CHECK(contains(outcome.err, "dataset.missing"));
}

TEST_CASE("up to twenty mistakes are reported at once") {
  // Six columns with four bad cells each: each cell has a line.
  std::string csv = "a,b,c,d,e,f,y\n";
  for (int row = 0; row < 4; ++row) csv += ",,,,,,a\n";
  check_table_refused(csv, kClassOptions, {"shapes.csv:2: column \"a\": is missing", "shapes.csv:5:", "…"});
  check_table_refused("x,y\n,a\n,a\n,a\n,a\n,a\n,a\n", kClassOptions,
                      {"shapes.csv:2: column \"x\": 6 cells are missing"});
}

TEST_CASE("a point of thousands is removed before a decimal comma is replaced, and two points are no date", "[slow]") {
  check_table_refused("x,y\n\"889,17\",a\n\"4.560,10\",b\n", kClassOptions,
                      {"remove points that separate thousands, if there are any, then write decimal points"});
  check_table_refused("x,y\n889.17,a\n4.560.10,b\n", kClassOptions, {"in place of \"4.560.10\" write 4560.10"});
  for (const char* date : {"14.11.2020", "2020-11-14", "11/14/20", "14.11.2020 10:00", "2020-11-14T10:00:00Z"}) {
    check_table_refused("x,y\n" + std::string(date) + ",a\n", kClassOptions, {"turn dates into numbers first"});
  }
}

TEST_CASE("a category in drop is a warning, and a target in drop stays the target") {
  const ShapesWorkspace w;
  const Outcome plan = w.run({"plan", "shapes.toml", "--set", "dataset.drop=[\"weight\", \"colour\"]"});
  CHECK(plan.code == 0);
  CHECK(contains(plan.err, "the category \"colour\" has no effect: dataset.drop leaves it out"));
  const Outcome target = w.run({"plan", "shapes.toml", "--set", "dataset.drop=[\"weight\", \"kind\"]"});
  INFO(target.err);
  CHECK(target.code == 0);
}

}  // namespace ddp::system_test
