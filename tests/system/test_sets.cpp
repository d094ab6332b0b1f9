#include <fstream>

#include "catch.h"
#include "tables.h"

namespace ddp::system_test {
namespace {

// Requires exit 2, these words on stderr, and no run.
void check_sets_refused(const Workspace& w, const Words& sets, const Words& words) {
  w.refused(with_sets({"run", "shapes.toml"}, sets), words);
  CHECK_FALSE(std::filesystem::exists(w.results()));
}

// "step val_loss" of all validations in order.
Words validations(const RunFolder& run) {
  Words found;
  for (const Json& line : run.events()) {
    if (line.contains("val_loss")) {
      found.push_back(line.at("event").get<std::string>() + " " + line.at("step").dump() + " " +
                      line.at("val_loss").dump() + " " + line.at("val_accuracy").dump());
    }
  }
  return found;
}

}  // namespace

TEST_CASE("contradictory options of held-out data are refused") {
  const ShapesWorkspace w;
  check_sets_refused(w, {"validation.dataset={path=\"shapes.csv\"}"}, {"\"split\" and \"dataset\"", "[validation]"});
  check_sets_refused(w, {"test.split=0.1", "test.dataset={path=\"shapes.csv\"}"},
                     {"\"split\" and \"dataset\"", "[test]"});
  check_sets_refused(w, {"validation.stratify=true", "validation.by=\"colour\""}, {"\"stratify\" and \"by\""});
  for (const std::string every : {"3 apples", "0 steps", "-1 steps", "1.5 steps", "steps", ""}) {
    check_sets_refused(w, {"validation.every=\"" + every + "\""}, {"validation.every", "250 steps"});
  }
  check_sets_refused(w, {"validation.every=0"}, {"validation.every"});
  check_sets_refused(w, {"validation.split=0.4", "test.split=0.6"},
                     {"validation.split 0.4 and test.split 0.6 leave no sample to train on", "must be below 1"});
  check_sets_refused(w, {"test.split=0.9"}, {"leave no sample to train on", "test.split=0.9"});
  check_sets_refused(w, {"validation.by=\"none\""}, {"none"});
}

TEST_CASE("held-out data and training data without samples are refused") {
  const ShapesWorkspace w;
  w.write("empty.csv", "width,height,colour,kind,weight\n");
  check_sets_refused(w, {"test.dataset={path=\"empty.csv\"}"}, {"empty.csv"});
  check_sets_refused(w, {"dataset.path=\"empty.csv\""}, {"empty.csv"});
  w.write("two.csv", "width,height,colour,kind,weight\n1,2,red,flat,3\n1,3,red,flat,3\n");
  // floor(0.2 * 2) is 0.
  check_sets_refused(w, {"dataset.path=\"two.csv\""}, {"holds nothing out", "split = 0.2"});
  // The column has one value: all rows are held out.
  check_sets_refused(w, {"dataset.path=\"two.csv\"", "validation.by=\"colour\"", "validation.split=0.5"},
                     {"leaves no sample to train on: of 2 samples, 2 are for validation and 0 for the test"});
  w.write("gaps.csv", "width,height,colour,kind,weight\n,2,red,flat,3\n,3,red,flat,3\n");
  check_sets_refused(w, {"dataset.path=\"gaps.csv\"", "validation.split=0.5", "dataset.missing=\"drop\""},
                     {"leaves no sample to train on: each row for training has a missing cell"});
}

TEST_CASE("model sizes that the data does not have, or does not define, are refused by name") {
  const ShapesWorkspace w;
  check_sets_refused(w, {"model.in_features=4"}, {"model.in_features", "4", "5"});
  check_sets_refused(w, {"model.out_features=2"}, {"model.out_features", "2", "3 classes"});
  check_sets_refused(
      w,
      {"dataset={name=\"random_batch\", inputs=3, targets=2}", "loss=\"mse\"", "validation.split=0.0",
       "model={name=\"sequential\", layers=[{type=\"Linear\", in_features=4, out_features=2}]}", "steps=3"},
      {"4"});
}

TEST_CASE("the classes are the classes of the training rows or the given ones") {
  const ShapesWorkspace w;
  const RunFolder given = w.train({R"(dataset.classes=["tall", "flat", "round, \"very\"", "none"])", "epochs=1"});
  const Json kept = json_of(given.path() / "checkpoints/latest/preprocessing.json");
  CHECK(kept.at("classes") == Json({"tall", "flat", "round, \"very\"", "none"}));
  check_sets_refused(ShapesWorkspace(), {R"(dataset.classes=["tall", "flat"])"}, {"round, "});
}

TEST_CASE("a class that only held-out rows have is refused with its row") {
  const ShapesWorkspace w;
  w.write("held.csv", "width,height,colour,kind,weight\n1,2,red,flat,3\n1,2,red,oval,3\n");
  check_sets_refused(w, {"test.dataset={path=\"held.csv\"}"}, {"held.csv", "\"oval\"", "dataset.classes"});
}

TEST_CASE("a class with a single sample cannot be stratified") {
  const ShapesWorkspace w;
  w.write("shapes.csv", shapes_csv(50) + "1,2,red,lonely,3\n");
  check_sets_refused(w, {"validation.stratify=true"}, {"\"lonely\"", "one sample"});
}

TEST_CASE("validations in steps and a test at the end each run once, also in a killed and resumed run") {
  const ShapesWorkspace w(403);
  // 21 steps per epoch, validated after 5, 10, 15, 20, 25, …
  w.write("shapes.toml", kShapes + "save_every_steps = 4\n");
  const auto [killed, whole] = kill_and_resume(w, "shapes", {"validation.every=\"5 steps\"", "test.split=0.1"});
  CHECK(validations(killed) == validations(whole));
  // Each fifth step, and the end of the run.
  CHECK(validations(killed).size() == static_cast<std::size_t>((whole.last_step() + 4) / 5));
  REQUIRE(killed.events("test").size() == 1);
  CHECK(killed.events("test").at(0).at("test_loss") == whole.events("test").at(0).at("test_loss"));
  CHECK(killed.summary().at("test") == whole.summary().at("test"));
}

TEST_CASE("a run without validation tests its last weights, whatever it saved before") {
  const ShapesWorkspace w(403);
  const auto tested = [&](const std::string& saves) {
    return w.train({"validation.split=0", "test.split=0.1", "steps=30", saves}).summary().at("test");
  };
  const Json last = tested("checkpoint.save_every=0");
  CHECK(last.at("step") == 30);
  CHECK(tested("checkpoint.save_every=1") == last);
  CHECK(tested("checkpoint.save_every_steps=8") == last);
}

TEST_CASE("a run that was killed behind its test, before its summary had it, is tested again") {
  const ShapesWorkspace w;
  const RunFolder run = w.train({"test.split=0.1"});
  const Json whole = run.summary();
  Json killed = whole;
  killed["status"] = "running";
  killed["test"] = nullptr;
  std::ofstream(run.path() / "summary.json") << killed.dump();
  w.done({"resume", "shapes"});
  CHECK(run.summary().at("test") == whole.at("test"));
  CHECK(run.events("test").size() == 1);
}

TEST_CASE("an interrupted run writes no test") {
  const ShapesWorkspace w;
  const auto process = w.start({"run", "shapes.toml", "--set", "epochs=1000000", "--set", "test.split=0.1"});
  const RunFolder run = w.running(*process, "shapes", 12);
  process->signal(SIGINT);
  CHECK(process->wait() == 130);
  CHECK(run.events("test").empty());
  CHECK(run.summary().at("test").is_null());
}

}  // namespace ddp::system_test
