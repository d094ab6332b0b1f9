#include <cmath>
#include <map>
#include <set>
#include <sstream>

#include "array_files.h"
#include "catch.h"
#include "tables.h"

namespace ddp::system_test {
namespace {

const std::string kRest = "device_pool = [\"cpu\", \"cpu\"]\nthreads = 1\nbatch_size = 4\n";

Json data_of_plan(const Workspace& w, const std::string& file, const Words& sets = {}) {
  const Words arguments = with_sets({"plan", file, "--json"}, sets);
  const Outcome outcome = w.done(arguments);
  return Json::parse(outcome.out).at("data");
}

// Six samples of two floats, and their classes.
void write_arrays(const Workspace& w) {
  w.write("x.npy", npy_of<double>("<f8", "(6, 2)", {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, -11, 12}));
  w.write("y.npy", npy_of<std::int8_t>("|i1", "(6,)", {0, 1, 2, 0, 0, 2}));
  w.write("arrays.toml",
          "dataset = { name = \"npy\", inputs = \"x.npy\", targets = \"y.npy\" }\nmodel = { name = \"mlp\", hidden = "
          "[4] }\n"
          "loss = \"cross_entropy\"\nloader = { shuffle = false }\n" +
              kRest);
}

void write_text(const Workspace& w) {
  std::string text;
  for (int i = 0; i < 100; ++i) text += "abba\n";
  w.write("a.txt", text);
  w.write("text.toml",
          "dataset = { name = \"text\", path = \"a.txt\", block_size = 8 }\nvalidation = { split = 0.2 }\n"
          "model = { name = \"gpt\", n_layer = 1, n_head = 1, n_embd = 4 }\n" +
              kRest);
}

std::int64_t total(const Json& counts) {
  std::int64_t sum = 0;
  for (const Json& count : counts) sum += count.get<std::int64_t>();
  return sum;
}

}  // namespace

TEST_CASE("plan shows the rows, columns and classes of a table, and the first batch as the model sees it") {
  const ShapesWorkspace w;
  const Json data = data_of_plan(w, "shapes.toml", {"test.split=0.1"});
  CHECK(data.at("rows") == 203);
  CHECK(data.at("columns").dump() ==
        R"([{"missing":0,"name":"width","role":"feature","type":"number"},)"
        R"({"missing":0,"name":"height","role":"feature","type":"number"},)"
        R"({"missing":0,"name":"colour","role":"feature","type":"category","value_count":3,)"
        R"("values":["blue","green","red"]},{"missing":0,"name":"kind","role":"target","type":"class"}])");
  CHECK(data.at("classes").at("names") == Json{"flat", "round, \"very\"", "tall"});
  REQUIRE(data.at("sets").size() == 3);
  CHECK(data.at("sets")[0].at("samples") == 143);
  CHECK(data.at("sets")[1].at("samples") == 40);
  CHECK(data.at("sets")[2].at("samples") == 20);
  for (const Json& set : data.at("sets")) CHECK(total(set.at("class_counts")) == set.at("samples"));
  const Json& batch = data.at("first_batch");
  CHECK(batch.at("inputs")[0].at("shape") == Json{8, 5});
  CHECK(batch.at("inputs")[0].at("dtype") == "float32");
  CHECK(batch.at("inputs")[0].at("least") < 0);  // standardised
  CHECK(batch.at("targets")[0].at("dtype") == "int64");
  CHECK(batch.at("targets")[0].at("greatest") <= 2);
  const Outcome text = w.run({"plan", "shapes.toml"});
  for (const char* words : {"model        mlp, in_features 5, out_features 3", "validation       40", "category",
                            "3: blue, green, red", "round, \"very\"", "[8, 5]"}) {
    CHECK(contains(text.out, words));
  }
}

TEST_CASE("plan tells the set of each row, the groups, the missing cells, and warns of a split that is not as asked") {
  require_tables();
  const Workspace w;
  // Half of the rows are of one person; every tenth has no person, and every seventh no x.
  std::string csv = "person,x,y\n";
  for (int i = 0; i < 210; ++i) {
    csv += i % 10 == 0 ? "," : i % 2 == 0 ? "anna," : "p" + std::to_string(i % 6) + ",";
    csv += (i % 7 == 0 ? "" : std::to_string(i)) + "," + std::to_string(i % 3) + "\n";
  }
  w.write("people.csv", csv);
  w.write("people.toml",
          "dataset = { name = \"csv\", path = \"people.csv\", target = \"y\", categories = [\"person\"], missing = "
          "\"drop\" }\nmodel = { name = \"mlp\", hidden = [4] }\nloss = \"cross_entropy\"\n"
          "validation = { split = 0.2, by = \"person\" }\n" +
              kRest);
  const Outcome plan = w.done({"plan", "people.toml", "--json", "--sets", "sets.csv"});
  const Json data = Json::parse(plan.out).at("data");
  std::map<std::string, std::set<std::string>> people;
  std::map<std::string, std::int64_t> rows;
  std::istringstream lines(csv), sets(text_of(w.folder() / "sets.csv"));
  std::string line, of;
  std::getline(lines, line);
  std::getline(sets, of);
  CHECK(of == "row,set");
  for (int i = 0; std::getline(lines, line); ++i) {
    REQUIRE(std::getline(sets, of));
    const std::string set = of.substr(of.find(',') + 1);
    INFO(of);
    CHECK(of == std::to_string(i) + "," + set);
    CHECK((set == "dropped") == (line.starts_with(",") || line.find(",,") != std::string::npos));
    ++rows[set];
    if (set != "dropped") people[set].insert(line.substr(0, line.find(',')));
  }
  CHECK(!std::getline(sets, of));
  w.refused({"plan", "people.toml", "--sets", "people.csv"}, {"people.csv", "is an input"});
  w.refused({"plan", "people.toml", "--sets", "nowhere/sets.csv"}, {"nowhere"});
  // A name without the ending could be the experiment, or a device.
  for (const char* other : {"people.toml", "/dev/stdout", "-"}) {
    w.refused({"plan", "people.toml", "--sets", other}, {other, "must end in .csv"});
  }
  CHECK(data.at("left_out") == rows["dropped"]);
  const auto used = static_cast<double>(rows["train"] + rows["validation"]);
  for (const Json& set : data.at("sets")) {
    const std::string name = set.at("set");
    CHECK(set.at("samples") == rows[name]);
    CHECK(set.at("groups") == std::ssize(people[name]));
    CHECK(set.at("share") == static_cast<double>(rows[name]) / used);
  }
  for (const std::string& person : people["validation"]) CHECK(!people["train"].contains(person));
  CHECK(data.at("columns")[0].at("missing") == 21);
  CHECK(data.at("columns")[1].at("missing") == 30);
  const std::int64_t held = rows["validation"];
  REQUIRE(std::abs(static_cast<double>(held) - 0.2 * used) > 0.05 * used);
  const std::string shares = "validation has " + std::to_string(std::lround(100 * static_cast<double>(held) / used)) +
                             " % of the samples, " + std::to_string(held) + " of ";
  for (const std::string& said : {std::string("missing = \"drop\" leaves out 48 of 210 rows"),
                                  std::string("21 rows have no value in column \"person\""),
                                  std::string("column \"person\" is a feature, and `by` names it"), shares}) {
    INFO(said);
    CHECK(contains(plan.err, said));
  }
}

TEST_CASE("plan shows the stored number types of arrays and the types for the model") {
  const Workspace w;
  write_arrays(w);
  const Json data = data_of_plan(w, "arrays.toml");
  REQUIRE(data.at("arrays").size() == 2);
  CHECK(contains(data.at("arrays")[0].at("name"), "x.npy"));
  CHECK(data.at("arrays")[0].at("dtype") == "float64");
  CHECK(data.at("arrays")[0].at("shape") == Json{6, 2});
  CHECK(data.at("arrays")[1].at("dtype") == "int8");
  CHECK(data.at("classes").at("count") == 3);
  CHECK(data.at("sets")[0].at("class_counts") == Json{3, 1, 2});
  // Rank 0 of 2 has the samples 0, 2 and 4.
  const Json& input = data.at("first_batch").at("inputs")[0];
  CHECK(input.at("shape") == Json{3, 2});
  CHECK(input.at("least") == 1);
  CHECK(input.at("greatest") == 10);
  CHECK(contains(w.run({"plan", "arrays.toml"}).out, "float64"));
}

TEST_CASE("plan counts the numbers of the first batch that are not finite, beside the range of the others") {
  const Workspace w;
  write_arrays(w);
  CHECK(data_of_plan(w, "arrays.toml").at("first_batch").at("inputs")[0].at("not_finite") == 0);
  CHECK_FALSE(contains(w.run({"plan", "arrays.toml"}).out, "inf or nan"));
  w.write("x.npy", npy_of<double>("<f8", "(6, 2)", {1, 2, 3, 4, NAN, 6, 7, 8, INFINITY, -INFINITY, -11, 12}));
  const Json input = data_of_plan(w, "arrays.toml").at("first_batch").at("inputs")[0];
  CHECK(input.at("not_finite") == 3);
  CHECK(input.at("least") == 1);
  CHECK(input.at("greatest") == 6);
  CHECK(contains(w.run({"plan", "arrays.toml"}).out, "inf or nan"));
  w.write("x.npy", npy_of<double>("<f8", "(6, 2)", std::vector<double>(12, NAN)));
  const Json none = data_of_plan(w, "arrays.toml").at("first_batch").at("inputs")[0];
  CHECK(none.at("not_finite") == 6);
  CHECK(none.at("least").is_null());
}

TEST_CASE("plan shows the tokens of each part of a text, and of token files without reading all of them") {
  const Workspace w;
  write_text(w);
  const Json text = data_of_plan(w, "text.toml");
  CHECK(text.at("tokenizer") == "char");
  CHECK(text.at("vocab_size") == 3);
  CHECK(text.at("block_size") == 8);
  CHECK(text.at("sets")[0] == Json{{"set", "train"}, {"samples", 49}, {"share", 49.0 / 61}, {"tokens", 400}});
  CHECK(text.at("sets")[1] == Json{{"set", "validation"}, {"samples", 12}, {"share", 12.0 / 61}, {"tokens", 100}});
  CHECK_FALSE(text.contains("classes"));
  w.refused({"plan", "text.toml", "--sets", "sets.csv"}, {"--sets"});
  CHECK(contains(w.run({"plan", "text.toml"}).out, "tokenizer \"char\" with 3 tokens"));

  w.write("a.bin",
          bytes_of_numbers(std::vector<std::uint16_t>{1, 2, 3, 4, 5, 6, 7, 8, 9, 3, 11, 12, 13, 14, 15, 16, 17}));
  const std::string tokens = R"(dataset={name="tokens", path="a.bin", block_size=8, sampling="random"})";
  const Json drawn = data_of_plan(w, "text.toml", {tokens, "steps=3", "validation.split=0", "batch_size=2"});
  CHECK(drawn.at("sets")[0] == Json{{"set", "train"}, {"samples", nullptr}, {"tokens", 17}});
  CHECK_FALSE(drawn.contains("vocab_size"));
  const std::string blocks = R"(dataset={name="tokens", path="a.bin", block_size=4})";
  const Json parts = data_of_plan(w, "text.toml", {blocks, "epochs=1", "validation.split=0.5", "batch_size=1"});
  CHECK(parts.at("sets")[0] == Json{{"set", "train"}, {"samples", 1}, {"share", 1.0 / 3}, {"tokens", 8}});
  CHECK(parts.at("sets")[1] == Json{{"set", "validation"}, {"samples", 2}, {"share", 2.0 / 3}, {"tokens", 9}});
  CHECK(drawn.at("first_batch").at("inputs")[0].at("shape") == Json{2, 8});
}

TEST_CASE("categories that only a held-out set has are named in a warning of plan and run") {
  const ShapesWorkspace w;
  w.write("others.csv", "width,height,colour,kind,weight\n1,2,mauve,flat,3\n1,2,red,tall,3\n1,2,ochre,flat,3\n");
  const Words own{"--set", "validation.split=0", "--set", "validation.dataset={path=\"others.csv\"}"};
  for (const std::string verb : {"plan", "run"}) {
    const Words arguments = joined({verb, "shapes.toml"}, own);
    w.done(arguments, {"others.csv: column \"colour\": 2 cells hold \"mauve\", \"ochre\""});
  }
}

}  // namespace ddp::system_test
