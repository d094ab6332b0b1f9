// The metrics of an experiment or a sweep, checked with the program's components.
#include "catch.h"
#include "config/load/sweep.h"
#include "errors.h"
#include "installed.h"
#include "scratch.h"

namespace ddp::config {
namespace {

const std::string kClasses =
    "model = { name = \"mlp\", in_features = 4, hidden = [16], out_features = 10 }\n"
    "dataset = { name = \"counting\", size = 400, features = 4 }\nloss = \"cross_entropy\"\n";
const std::string kNumbers = "model = \"linear\"\ndataset = \"random_pairs\"\n";  // the loss is mse
const std::string kHeldOut = "validation.split = 0.1\n";

std::string told_of_metrics(const std::string& text) {
  const Scratch scratch;
  scratch.write("x.toml", text);
  return error_of([] { load("x.toml", {}, real_components()); });
}

// Returns the error about the sweep, or about its trials with the first or the last value of each parameter.
std::string told_of_sweep_metric(const std::string& text) {
  const Scratch scratch;
  scratch.write("x.toml", text);
  return error_of([] {
    const LoadedSweep loaded = load_sweep("x.toml", {}, real_components());
    Mistakes mistakes;
    for (const double u : {0.0, 0.4, 0.999}) {
      Point point;
      for (const Parameter& parameter : loaded.sweep.parameters) point.push_back(parameter.at(u));
      loaded.trial(point, mistakes);
    }
    if (!mistakes.empty()) throw mistakes.error();
  });
}

}  // namespace

TEST_CASE("the metric of a sweep is checked for each loss, metric and split that varies, and reported once") {
  const std::string metric = kNumbers + kHeldOut + "[sweep]\nmetric = \"val_mae\"\n[sweep.parameters]\n";
  const std::string losses = told_of_sweep_metric(
      kNumbers + kHeldOut + "metrics = [\"mae\"]\n[sweep]\nmetric = \"val_mae\"\n" +
      "[sweep.parameters]\noptimizer.lr = [0.1, 0.2]\nloss = [\"mse\", \"cross_entropy\", \"l1\"]\n");
  CHECK(contains(losses, "x.toml:6:10: \"val_mae\" cannot be measured with this loss"));
  CHECK(contains(losses, "val_loss, val_accuracy"));
  CHECK(count(losses, "\"val_mae\" cannot be measured") == 1);
  CHECK(
      contains(told_of_sweep_metric(metric + "metrics = [[\"mae\"], [\"mse\"], []]\n"), "\"val_mae\" is not measured"));
  CHECK(told_of_sweep_metric(metric + "metrics = [[\"mae\"], [\"mse\", \"mae\"]]\n").empty());
  CHECK(contains(told_of_sweep_metric(metric + "loss.name = [\"mse\", \"l1\"]\n"), "give metrics = [\"mae\"]"));
  const std::string splits = "[sweep]\nmetric = \"val_loss\"\n[sweep.parameters]\nvalidation.split = [0, 0.1]\n";
  CHECK(contains(told_of_sweep_metric(kNumbers + splits), "x.toml:4:10: \"val_loss\" needs held-out samples"));
  CHECK(told_of_sweep_metric(kNumbers + "[sweep]\nmetric = \"val_loss\"\n[sweep.parameters]\n"
                                        "validation.split = [0.1, 0.2]\n")
            .empty());
}

TEST_CASE("a sweep without a metric is judged by val_loss, which each trial must have") {
  const std::string told =
      told_of_sweep_metric(kNumbers + kHeldOut + "[sweep.parameters]\nvalidation.split = [0, 0.1]\n");
  CHECK(contains(told, "\"val_loss\" needs held-out samples"));
}

TEST_CASE("the remedy for a metric that is not measured lists the metrics that fit the loss") {
  CHECK(
      contains(told_of_metrics(kNumbers + kHeldOut + "checkpoint.metric = \"val_mae\"\n"), "give metrics = [\"mae\"]"));
  CHECK(contains(told_of_metrics(kClasses + kHeldOut + "checkpoint.metric = \"val_f1_macro\"\n"), "\"f1_macro\"]"));
  // One list for all keys that follow a metric, each name once.
  const std::string both =
      told_of_metrics(kNumbers + kHeldOut + "checkpoint.metric = \"val_r2\"\n" +
                      "stop = { metric = \"val_mae\", patience = 2 }\nmetrics = [\"mse\", \"mse\"]\n");
  CHECK(count(both, "give metrics = [\"mse\", \"r2\", \"mae\"]") == 2);
  CHECK(contains(told_of_sweep_metric(kNumbers + kHeldOut +
                                      "[sweep]\nmetric = \"val_mae\"\n[sweep.parameters]\nbatch_size = [1]\n"),
                 "give metrics = [\"mae\"]"));
  CHECK(contains(told_of_sweep_metric(kNumbers + kHeldOut +
                                      "[sweep]\nmetric = \"val_accuracy\"\n[sweep.parameters]\nbatch_size = [1]\n"),
                 "\"val_accuracy\" cannot be measured with this loss"));
}

TEST_CASE("a matrix cannot rank checkpoints or trials, and the error is reported once") {
  for (const char* key : {"checkpoint.metric", "stop.metric"}) {
    const std::string told = told_of_metrics(kClasses + kHeldOut + key + " = \"val_confusion\"\n");
    CHECK(contains(told, "confusion is a matrix: give a metric that is a number"));
    CHECK(count(told, "x.toml:5") == 1);
    CHECK_FALSE(contains(told, "is not measured"));
  }
  const std::string sweep = told_of_sweep_metric(
      kClasses + kHeldOut + "[sweep]\nmetric = \"val_confusion\"\n[sweep.parameters]\nbatch_size = [1]\n");
  CHECK(contains(sweep, "confusion is a matrix"));
  CHECK_FALSE(contains(sweep, "is not measured"));
}

TEST_CASE("a metric in the list that does not fit is shown at its place, with the metrics that fit") {
  const std::string told = told_of_metrics(kNumbers + "metrics = [\"mae\", \"top3\", \"accuracy\"]\n");
  CHECK(contains(told, "x.toml:3:19: \"top3\" cannot be measured with this loss"));
  CHECK(contains(told, "x.toml:3:27: \"accuracy\" cannot be measured with this loss"));
  CHECK(contains(told, "measurable metrics: explained_variance, mae, mape, median_absolute_error, mse, r2, rmse"));
}

TEST_CASE("the remedy for a metric that is not measured lists no name that the same message refuses") {
  const std::string told =
      told_of_metrics(kClasses + kHeldOut + "metrics = [\"f2\", \"fscore\"]\ncheckpoint.metric = \"val_auroc\"\n");
  CHECK(contains(told, "\"val_auroc\" is not measured"));
  CHECK(contains(told, "\"auroc\"]"));
  CHECK_FALSE(contains(told, "give metrics = [\"f2\","));
  CHECK_FALSE(contains(told, "\"fscore\","));
}

TEST_CASE("a text in place of the validation is no second mistake of a metric that needs it") {
  const std::string told = told_of_metrics(kClasses + "validation = \"other\"\ncheckpoint.metric = \"val_accuracy\"\n");
  CHECK(contains(told, "\"validation\" must be a table"));
  CHECK_FALSE(contains(told, "needs held-out samples"));
}

}  // namespace ddp::config
