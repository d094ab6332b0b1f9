#include "base/error.h"
#include "catch.h"
#include "report/select/query.h"
#include "scratch_folder.h"
#include "words.h"

namespace ddp::report {
namespace {

void queried_run(const ScratchFolder& scratch, const std::string& folder, const std::string& status,
                 const std::string& started, const std::string& metrics, const std::string& config) {
  scratch.write(folder + "/config.toml", config);
  scratch.write(folder + "/summary.json", "{\"status\":\"" + status + "\",\"name\":\"" +
                                              folder.substr(0, folder.find('/')) + "\",\"started\":\"2026-11-21T0" +
                                              started + ":00:00Z\",\"epochs\":3,\"final\":{" + metrics + "}}");
}

struct Results {
  Results() {
    queried_run(scratch, "a/1", "completed", "1", "\"val_loss\":0.5",
                "loss = \"mse\"\n[optimizer]\nname = \"sgd\"\nlr = 0.1\n");
    queried_run(scratch, "a/2", "failed", "2", "", "loss = \"mse\"\n[optimizer]\nname = \"adam\"\nlr = 0.01\n");
    queried_run(scratch, "b/1", "completed", "3", "\"val_loss\":0.25",
                "loss = \"mse\"\n[optimizer]\nname = \"sgd\"\nlr = 1\n");
    queried_run(scratch, "bb/1", "completed", "4", "\"val_loss\":10", "damaged = = 1\n");
  }

  std::string selected(const Query& query) {
    std::string names;
    for (const Row& row : select(rows_of(read_results(scratch.folder()), scratch.folder()), query, problems)) {
      names += row.run + " ";
    }
    return names;
  }
  std::string where(const std::string& condition) { return selected({.where = parse_conditions(condition)}); }
  std::string error_of(const Query& query) {
    try {
      return "none: " + selected(query);
    } catch (const Error& error) {
      return error.what();
    }
  }

  const ScratchFolder scratch;
  std::vector<std::string> problems;
};

}  // namespace

TEST_CASE("without a filter all runs are listed and the newest is first") {
  CHECK(Results().selected({}) == "bb/1 b/1 a/2 a/1 ");
  CHECK(Results().selected({.limit = 2}) == "bb/1 b/1 ");
}

TEST_CASE("status, name and conditions narrow a list") {
  Results r;
  CHECK(r.selected({.status = "failed"}) == "a/2 ");
  CHECK(r.selected({.name = "b"}) == "b/1 ");
  CHECK(r.selected({.name = "b*"}) == "bb/1 b/1 ");
  CHECK(r.where("val_loss<0.5") == "b/1 ");
  CHECK(r.where("val_loss<=0.5") == "b/1 a/1 ");
  CHECK(r.where("val_loss > 2.5e-1") == "bb/1 a/1 ");  // as numbers: 10 is more than 0.5
  CHECK(r.where("val_loss==0.25") == "b/1 ");
  CHECK(r.where("val_loss!=0.25") == "bb/1 a/1 ");  // a run without the value is not unequal
  CHECK(r.where("status=failed") == "a/2 ");
  CHECK(r.where("name>=b") == "bb/1 b/1 ");
  CHECK(r.where("epochs=3") == "bb/1 b/1 a/2 a/1 ");
  CHECK(r.where("status<3").empty());
  CHECK(r.where("val_loss<1 and name=a") == "a/1 ");
  CHECK(r.problems.empty());
}

TEST_CASE("keys of the configuration filter and sort, and a damaged configuration is skipped") {
  Results r;
  CHECK(r.where("optimizer.lr>=0.1") == "b/1 a/1 ");
  CHECK(r.where("optimizer=sgd") == "b/1 a/1 ");
  CHECK(r.where("loss.name=mse") == "b/1 a/2 a/1 ");
  REQUIRE(r.problems.size() == 3);
  CHECK(contains(r.problems.front(), "bb/1/config.toml"));
  CHECK(r.selected({.sort_by = "optimizer.lr"}) == "a/2 a/1 b/1 bb/1 ");
}

TEST_CASE("an order comparison between numbers and texts of the configuration is refused") {
  Results r;
  CHECK(contains(r.error_of({.where = parse_conditions("optimizer.lr<fast")}), "\"optimizer.lr\" is a number"));
  CHECK(contains(r.error_of({.where = parse_conditions("optimizer.name<3")}), "\"optimizer.name\" is a text"));
  CHECK(r.where("optimizer.lr!=fast") == "b/1 a/2 a/1 ");
}

TEST_CASE("rows without a value to sort by come last in both directions") {
  CHECK(Results().selected({.sort_by = "val_loss"}) == "b/1 a/1 bb/1 a/2 ");
  CHECK(Results().selected({.sort_by = "-val_loss"}) == "bb/1 a/1 b/1 a/2 ");
}

TEST_CASE("a metric of any run is a key, and so is a metric that the query knows") {
  Results r;
  queried_run(r.scratch, "c/1", "completed", "5", "\"val_auroc\":0.75", "damaged = = 1\n");
  CHECK(r.where("val_auroc>0.5") == "c/1 ");
  CHECK(r.selected({.sort_by = "val_auroc", .limit = 1}) == "c/1 ");
  CHECK(contains(r.error_of({.sort_by = "val_accuracy"}), "no result has the key \"val_accuracy\""));
  CHECK(r.selected({.sort_by = "val_accuracy", .limit = 1, .metrics = {"val_accuracy"}}) == "a/1 ");
}

TEST_CASE("a mistyped key, status or condition is refused with the nearest one") {
  Results r;
  CHECK(contains(r.error_of({.sort_by = "vall_loss"}), "did you mean \"val_loss\"?"));
  CHECK(contains(r.error_of({.where = parse_conditions("optimizer.lrr<1")}), "did you mean \"optimizer.lr\"?"));
  CHECK(contains(r.error_of({.where = parse_conditions("zzz<1")}), "keys: run, kind,"));
  CHECK(contains(r.error_of({.status = "complete"}), "did you mean \"completed\"?"));
}

namespace {

// "key comparison value" of each condition, or the error.
std::string conditions_in(const std::string& text) {
  try {
    std::string all;
    for (const Condition& c : parse_conditions(text)) all += c.key + " " + c.comparison + " " + c.value.dump() + "; ";
    return all;
  } catch (const Error& error) {
    return error.what();
  }
}

}  // namespace

TEST_CASE("a condition is a key, a comparison, and a number or a text") {
  CHECK(conditions_in("val_loss<0.3") == "val_loss < 0.3; ");
  CHECK(conditions_in("  val_loss   >=\t-2.5e-1 ") == "val_loss >= -0.25; ");
  CHECK(conditions_in("epochs==3") == "epochs = 3.0; ");
  CHECK(conditions_in("optimizer.name != sgd") == "optimizer.name != \"sgd\"; ");
  CHECK(conditions_in("note='two words < 3'") == "note = \"two words < 3\"; ");
  CHECK(conditions_in("note=\"it's\"") == "note = \"it's\"; ");
  CHECK(conditions_in("note=''") == "note = \"\"; ");
  CHECK(conditions_in("device_pool=[\"cpu\"]") == "device_pool = \"[\\\"cpu\\\"]\"; ");
}

TEST_CASE("a name or an id that looks like a number is a text, and so is a number in quotes") {
  CHECK(conditions_in("run_id=007") == "run_id = \"007\"; ");
  CHECK(conditions_in("name=3") == "name = \"3\"; ");
  CHECK(conditions_in("seed='3'") == "seed = \"3\"; ");
}

TEST_CASE("conditions are joined with and") {
  CHECK(conditions_in("val_loss>0.1 and epochs>3") == "val_loss > 0.1; epochs > 3.0; ");
  CHECK(conditions_in("name=android and note='a and b' and seed=1") ==
        "name = \"android\"; note = \"a and b\"; seed = 1.0; ");
}

TEST_CASE("an invalid condition is refused with its place and the remedy") {
  for (const char* text : {"", " = ", "<3", "val_loss", "val loss<3", "val_loss<", "val_loss=<0.5", "val_loss!3",
                           "val_loss<<3", "epochs>3 or epochs<1", "epochs>3 && epochs<1", "epochs>3 epochs<9",
                           "epochs>3 and", "name=two words", "note='open", "note='a'b", "note='é' x"}) {
    INFO(text);
    CHECK(contains(conditions_in(text), "--where, character 1: "));
    CHECK(contains(conditions_in(text), "expected a key, a comparison and a value"));
  }
  CHECK(contains(conditions_in("note='é' and 0.1<val_loss<0.5"), "--where, character 13: "));
  for (const auto& [text, place] : {std::pair("val_loss<abc", "character 10"),
                                    {"epochs=3x", "character 8"},
                                    {"epochs='3'", "character 8"},
                                    {"steps<nan", "character 7"}}) {
    INFO(text);
    CHECK(contains(conditions_in(text), std::string("--where, ") + place + ": "));
    CHECK(contains(conditions_in(text), "is a number, but "));
  }
}

}  // namespace ddp::report
