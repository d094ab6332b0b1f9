#include "catch.h"
#include "tables.h"

// Tables whose first line does not fit: the delimiter, the line of names, the columns.
namespace ddp::system_test {

TEST_CASE("a column that is missing because the header has another delimiter is refused with that delimiter") {
  check_table_refused("x;y\n1;a\n", kClassOptions, {"no column \"y\"", "delimiter = \";\""});
  check_table_refused("x\ty\n1\ta\n", kClassOptions, {"no column \"y\"", "delimiter = \"\\t\""});
  check_table_refused("x,y\n1,a\n", "delimiter = \";\", " + kClassOptions, {"no column \"y\"", "delimiter = \",\""});
  const ShapesWorkspace w;
  CHECK_FALSE(contains(w.run({"plan", "shapes.toml", "--set", "dataset.target=none"}).err, "delimiter"));
}

TEST_CASE("a further file with other columns is refused with the columns that it lacks and adds") {
  const ShapesWorkspace w;
  const auto answer = [&](const std::string& first_line) {
    w.write("other.csv", first_line + "\n1,2,red,flat,4\n");
    const Outcome plan = w.run({"plan", "shapes.toml", "--set", "dataset.path=[\"shapes.csv\", \"other.csv\"]"});
    INFO(plan.err);
    CHECK(plan.code == 2);
    return plan.err;
  };
  CHECK(contains(answer("width,height,color,kind,mass"),
                 "; it lacks \"colour\", \"weight\", and also has \"color\", \"mass\"\n"));
  CHECK(contains(answer("height,width,colour,kind,weight"), "shapes.csv in another order\n"));
  w.write("shapes.csv", "a,b,c,d,e,f,g,width,height,colour,kind,weight\n");
  CHECK(
      contains(answer("width,height,colour,kind,weight"), "; it lacks \"a\", \"b\", \"c\", \"d\", \"e\" and 2 more\n"));
}

TEST_CASE("header = false for a file with a line of names is refused with the way to use the names") {
  check_table_refused("x,y\n1,2\n3,4\n", "header = false, " + kNumberOptions,
                      {"has no column \"y\"", "leave it out if line 1 of the file has their names"});
  check_table_refused("x,y\n1,2\n3,4\n", "header = false, target = \"1\" }\nloss = { name = \"mse\"",
                      {"line 1 looks like names: leave out dataset.header"});
  check_table_refused("1,2\n3,4\n", "header = false, target = 1 }\nloss = { name = \"mse\"", {"give target = \"1\""});
}

TEST_CASE("a delimiter at the end of each line is answered with the column without a name that it makes") {
  check_table_refused("x,y,\n1,a,\n2,b,\n", kClassOptions, {"add \"\" to dataset.drop"});
  const ShapesWorkspace w;
  w.write("shapes.csv", "x,y,\n1,a,\n2,b,\n3,a,\n4,b,\n");
  w.write("shapes.toml", "dataset = { name = \"csv\", path = \"shapes.csv\", " + kClassOptions +
                             " }\nmodel = { name = \"mlp\", hidden = [] }\nbatch_size = 2\ndevice_pool = [\"cpu\"]\n");
  CHECK(w.run({"plan", "shapes.toml", "--set", "dataset.drop=[\"\"]"}).code == 0);
}

TEST_CASE("a file whose first line is data, and mostly words, is answered with the missing line of names") {
  const ShapesWorkspace w;
  w.write("bare.csv", "1,2,red,flat,2\n3,4,blue,flat,1\nand,so,on,flat,3\n");
  const Outcome plan = w.run({"plan", "shapes.toml", "--set", "dataset.path=bare.csv"});
  INFO(plan.err);
  CHECK(plan.code == 2);
  CHECK(contains(plan.err, "the first line looks like data: if the file has no line of names"));
  w.write("words.csv", "a,b,red,flat,2\nc,d,blue,flat,1\n");
  CHECK(contains(w.run({"plan", "shapes.toml", "--set", "dataset.path=words.csv"}).err,
                 "the first line looks like data"));
  w.train({"epochs=1"});
  const Outcome eval = w.run({"eval", "shapes", "--set", "dataset.path=words.csv"});
  INFO(eval.err);
  CHECK(eval.code == 2);
  CHECK(contains(eval.err, "begin the file with the line of names"));
  CHECK_FALSE(contains(eval.err, "for rows without a target use predict"));
}

}  // namespace ddp::system_test
