#include <cstring>

#include "catch.h"
#include "looking.h"
#include "workspace.h"

// The shipped experiments on tables. The first lines of each have its expected result, too.
namespace ddp::system_test {
namespace fs = std::filesystem;
namespace {

const fs::path kCheckout = DDP_SOURCE;

// Their tables are in data/ after the set-up; not every build has the library that reads them.
bool has_sample_table(const std::string& name) {
  const fs::path table = kCheckout / "data" / name;
  const fs::path library = fs::path(DDP_EXP).parent_path() / "libddp_tables.so";
  for (const fs::path& file : {table, library}) {
    if (fs::exists(file)) continue;
    WARN("skipped: " << file << " is not there");
    return false;
  }
  return true;
}

// Runs it on two CPUs, also on machines with GPUs, and returns its summary.
Json summary_of(const Workspace& w, const std::string& name) {
  const Outcome run = w.done({"run", kCheckout / "experiments" / (name + ".toml"), "--set",
                              "device_pool=[\"cpu\", \"cpu\"]", "--set", "threads=1"});
  Json summary = run.run.summary();
  CHECK(summary.at("status") == "completed");
  CHECK(summary.at("world_size") == 2);
  return summary;
}

}  // namespace

TEST_CASE("iris recognizes the species of at least 28 of 30 flowers that it never saw") {
  if (!has_sample_table("iris.csv")) return;
  const Workspace w;
  const Json summary = summary_of(w, "iris");
  CHECK(summary.at("final").at("val_accuracy") >= 28.0 / 30);
  CHECK(summary.at("test").is_null());
}

TEST_CASE("iris predicts a species and its probabilities for each row of another table") {
  if (!has_sample_table("iris.csv")) return;
  const Workspace w;
  summary_of(w, "iris");
  w.write("flowers.csv",
          "petal_length,petal_width,sepal_length,sepal_width\n1.4,0.2,5.1,3.5\n4.5,1.4,6.0,2.9\n6.0,2.3,6.7,3.1\n");
  const Outcome predicted = w.done({"predict", "iris", "flowers.csv"});
  const auto lines = lines_of(predicted.out);
  REQUIRE(lines.size() == 4);
  CHECK(lines[0] == "prediction,probability_setosa,probability_versicolor,probability_virginica");
  CHECK(lines[1].starts_with("setosa,"));
  CHECK(lines[2].starts_with("versicolor,"));
  CHECK(lines[3].starts_with("virginica,"));
}

TEST_CASE("breast_cancer holds out the same share of both classes and tests its best checkpoint") {
  if (!has_sample_table("breast_cancer.parquet")) return;
  const Workspace w;
  const Json summary = summary_of(w, "breast_cancer");
  CHECK(summary.at("best").at("metric") == "val_loss");
  CHECK(summary.at("final").at("val_accuracy") >= 0.94);
  CHECK(summary.at("test").at("values").at("test_accuracy") >= 0.94);
}

TEST_CASE(
    "diabetes explains about half of the variance of its standardised targets and predicts the original numbers") {
  if (!has_sample_table("diabetes.csv")) return;
  const Workspace w;
  const Json summary = summary_of(w, "diabetes");
  CHECK(summary.at("best").at("value") <= 0.6);
  const Outcome predicted = w.done({"predict", "diabetes", kCheckout / "data/diabetes.csv"});
  const auto lines = lines_of(predicted.out);
  REQUIRE(lines.size() == 443);
  CHECK(lines[0] == "prediction_progression");
  for (std::size_t i = 1; i < lines.size(); ++i) {
    const double value = std::stod(lines[i]);
    CHECK((value > 0 && value < 400));
  }
  // The numbers of .npy have the targets' units, too.
  w.done({"predict", "diabetes", kCheckout / "data/diabetes.csv", "-o", "answers.npy"});
  const std::string npy = text_of(w.folder() / "answers.npy");
  float last = 0;
  REQUIRE(npy.size() > sizeof last);
  std::memcpy(&last, npy.data() + npy.size() - sizeof last, sizeof last);
  CHECK(last == static_cast<float>(std::stod(lines.back())));
}

}  // namespace ddp::system_test
