// The key `metrics`: the measured metrics, the allowed ones, and their place in events and summary.json.
#include "catch.h"
#include "finished_run.h"

namespace ddp::system_test {
namespace {

const std::string kMeasuredClasses =
    "model = { name = \"mlp\", in_features = 4, hidden = [16], out_features = 10 }\n"
    "dataset = { name = \"counting\", size = 400, features = 4 }\nbatch_size = 16\nepochs = 2\nthreads = 1\n"
    "device_pool = [\"cpu\", \"cpu\"]\noptimizer = { name = \"adam\", lr = 0.01 }\n"
    "[validation]\nsplit = 0.3\n[test]\nsplit = 0.2\n";

const std::string kMeasuredNumbers =
    "model = { name = \"linear\", out_features = 3 }\ndataset = { name = \"random_pairs\", targets = 3 }\nloss = "
    "\"mse\"\nepochs = 1\nthreads = 1\n"
    "device_pool = [\"cpu\", \"cpu\"]\n[validation]\nsplit = 0.2\n";

}  // namespace

TEST_CASE("the listed metrics are in every event of a validation, in the event of the test, and in the summary") {
  const FinishedRun f(kMeasuredClasses, {R"(metrics=["accuracy", "top3", "f1_macro", "auroc", "perplexity"])"});
  const Json last = f.run.events("epoch").back();
  for (const std::string name : {"loss", "accuracy", "top3", "f1_macro", "auroc", "perplexity"}) {
    CHECK(last.at("val_" + name).is_number());
    CHECK(f.run.summary().at("final").at("val_" + name) == last.at("val_" + name));
    CHECK(f.run.events("test").back().at("test_" + name).is_number());
  }
  CHECK(last.at("val_top3") >= last.at("val_accuracy"));
  CHECK_FALSE(last.contains("val_recall_macro"));
}

TEST_CASE("an empty list of metrics measures the loss alone") {
  const FinishedRun f(kMeasuredClasses, {"metrics=[]"});
  const Json last = f.run.events("epoch").back();
  CHECK(last.contains("val_loss"));
  CHECK_FALSE(last.contains("val_accuracy"));
}

TEST_CASE("the confusion matrix is in the summary alone, with a row for each right class") {
  const FinishedRun f(kMeasuredClasses, {R"(metrics=["confusion", "accuracy"])"});
  CHECK_FALSE(f.run.events("epoch").back().contains("val_confusion"));
  const Json summary = f.run.summary();
  for (const auto& [section, prefix] : {std::pair{"final", "val_"}, {"test", "test_"}}) {
    const Json values = summary.at(section).value("values", summary.at(section));
    const Json rows = values.at(std::string(prefix) + "confusion");
    REQUIRE(rows.size() == 10);
    std::int64_t right = 0;
    std::int64_t all = 0;
    for (std::size_t i = 0; i < 10; ++i) {
      REQUIRE(rows[i].size() == 10);
      right += rows[i][i].get<std::int64_t>();
      for (const auto& count : rows[i]) all += count.get<std::int64_t>();
    }
    CHECK(all > 0);
    CHECK(values.at(std::string(prefix) + "accuracy") == static_cast<double>(right) / all);
  }
  const Outcome shown = f.workspace.done({"show", "small"});
  for (const char* name : {"test_loss", "test_accuracy", "val_confusion", "test_confusion"}) {
    CHECK(contains(shown.out, name));
  }
  CHECK(contains(shown.out, "class  predicted as"));
  f.workspace.done({"list"});
}

TEST_CASE("after a resume the confusion matrix still is the last validation's") {
  const Words sets{R"(metrics=["confusion"])"};
  const FinishedRun whole(kMeasuredClasses, {sets[0], "epochs=3"});
  const FinishedRun parts(kMeasuredClasses, sets);
  const Json before = parts.run.summary().at("final").at("val_confusion");
  parts.resume({"small", "--set", "epochs=3"});
  const Json after = parts.run.summary().at("final").at("val_confusion");
  CHECK(after == whole.run.summary().at("final").at("val_confusion"));
  CHECK(after != before);
}

TEST_CASE("the best checkpoint may be chosen by any metric in the list, in its direction") {
  for (const auto& [name, greater] : {std::pair{"auroc", true}, {"top2", true}, {"perplexity", false}}) {
    const std::string metric = std::string("val_") + name;
    const FinishedRun f(kMeasuredClasses,
                        {std::string("metrics=[\"") + name + "\"]", "checkpoint.metric=" + metric, "epochs=4"});
    double best = greater ? -1 : 1e9;
    for (const Json& line : f.run.events("epoch")) {
      const double value = line.at(metric);
      best = greater ? std::max(best, value) : std::min(best, value);
    }
    CHECK(f.run.summary().at("best").at("metric") == metric);
    CHECK(f.run.summary().at("best").at("value") == best);
  }
}

TEST_CASE("the area under the curve is null if a class is absent, and null is never the best") {
  // Four samples of ten classes.
  const FinishedRun f(kMeasuredClasses,
                      {R"(metrics=["auroc", "accuracy"])", "checkpoint.metric=val_auroc", "validation.split=0.01"});
  for (const Json& line : f.run.events("epoch")) {
    CHECK(line.at("val_auroc").is_null());
    CHECK(line.at("val_accuracy").is_number());
  }
  const Json summary = f.run.summary();
  CHECK(summary.at("status") == "completed");
  CHECK(summary.at("final").at("val_auroc").is_null());
  CHECK(summary.at("best").at("value").is_null());
  f.workspace.done({"show", "small"});
  f.workspace.done({"report", "small"});
  const Outcome eval = f.workspace.run({"eval", "small", "--json"});
  INFO(eval.err);
  CHECK(Json::parse(eval.out).at("metrics").at("val_auroc").is_null());
}

TEST_CASE("a metric without a value is a dash in the lines of epochs, with one warning if a setting follows it") {
  const Workspace w("small.toml", kMeasuredClasses);
  const Words arguments{
      "run",   "small.toml", "--set", R"(metrics=["auroc", "accuracy"])", "--set", "validation.split=0.01",
      "--set", "epochs=3"};
  const Outcome idle = w.done(arguments, {" | val_auroc - | "});
  CHECK_FALSE(contains(idle.err, " nan"));
  CHECK_FALSE(contains(idle.err, "has no value"));
  const Words judging = joined(arguments, {"--set", "checkpoint.metric=val_auroc", "--set", "stop.patience=9"});
  const std::string told = w.run(judging).err;
  const std::string warning = "warning: val_auroc has no value after step ";
  const std::size_t first = told.find(warning);
  REQUIRE(first != std::string::npos);
  CHECK(contains(told, ": this is no improvement for checkpoint.metric and stop.metric"));
  CHECK(told.find(warning, first + 1) == std::string::npos);
}

TEST_CASE("metrics for numbers are measured on numeric targets") {
  const FinishedRun f(kMeasuredNumbers, {R"(metrics=["mae", "mse", "rmse", "r2"])"});
  const Json last = f.run.events("epoch").back();
  for (const std::string name : {"mae", "mse", "rmse", "r2"}) CHECK(last.at("val_" + name).is_number());
  CHECK(std::abs(last.at("val_mse").get<double>() - last.at("val_loss").get<double>()) < 1e-6);
}

TEST_CASE("topN needs more than N classes") {
  const Workspace w("top.toml", kMeasuredClasses);
  w.refused(
      {"plan", "top.toml", "--set", R"(metrics=["top10"])"},
      {"it needs more than 10 classes, and the model knows 10", "metrics for these targets: accuracy", "top2 to top9"});
  w.write("listed.toml", "metrics = [\"accuracy\", \"top10\"]\n" + kMeasuredClasses);
  CHECK(contains(w.run({"plan", "listed.toml"}).err, "listed.toml:1:24"));
  w.done({"plan", "top.toml", "--set", R"(metrics=["top9"])"});
}

}  // namespace ddp::system_test
