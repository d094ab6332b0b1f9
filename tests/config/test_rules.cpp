#include "catch.h"
#include "errors.h"
#include "installed.h"
#include "scratch.h"

namespace ddp::config {
namespace {

std::string said(const std::string& lines) { return mistakes(kModelAndDataset + lines + "\n"); }

}  // namespace

TEST_CASE("a file sets epochs or steps, and batch_size or global_batch_size, but not both") {
  CHECK(contains(said("epochs = 1\nsteps = 2"), "x.toml:4:1: \"epochs\" and \"steps\" are both given"));
  CHECK(contains(said("global_batch_size = 1\nbatch_size = 2"), "x.toml:4:1: \"batch_size\" and"));
}

TEST_CASE("device_pool accepts auto, a count, devices, or equal groups of them") {
  for (const std::string pool :
       {"\"auto\"", "1", "[0]", "[1, 5, 6]", "[\"cpu\", \"cpu\"]", "[[0, 1], [2, 3]]", "[[\"cpu\"], [\"cpu\"]]"}) {
    CHECK(said("device_pool = " + pool) == "");
  }
  CHECK(contains(said("device_pool = \"gpu\""), "x.toml:3:15: \"device_pool\" must be \"auto\""));
  CHECK(contains(said("device_pool = 0"), "not 0"));
  CHECK(contains(said("device_pool = true"), "not true"));
  CHECK(contains(said("device_pool = 1.5"), "not 1.5"));
  CHECK(contains(said("device_pool = []"), "the list is empty"));
  CHECK(contains(said("device_pool = [[]]"), "the group is empty"));
  CHECK(contains(said("device_pool = [[0], [1, 2]]"), "x.toml:3:21: \"device_pool\": the groups"));
  CHECK(contains(said("device_pool = [0, [1]]"), "the list mixes devices and groups of devices"));
  CHECK(contains(said("device_pool = [0, \"cpu\"]"), "the pool mixes CPUs and GPUs"));
  CHECK(contains(said("device_pool = [0, 1, 0]"), "x.toml:3:22: \"device_pool\": GPU 0 is named twice"));
  CHECK(contains(said("device_pool = [[0, 1], [1, 2]]"), "GPU 1 is named twice"));
  CHECK(contains(said("device_pool = [-1]"), "not -1"));
  CHECK(contains(said("device_pool = [true]"), "not true"));
  CHECK(contains(said("device_pool = [\"cuda:0\"]"), "a device is a GPU's index or \"cpu\""));
}

TEST_CASE("a name that would leave the results folder is refused") {
  CHECK(said("name = \"lr-0.1_b\"") == "");
  for (const std::string name : {"", "..", ".x", "a/b", "/a", "a b", "é", "latest"}) {
    CHECK(contains(said("name = \"" + name + "\""), "cannot be the name of an experiment"));
  }
  const Scratch scratch;
  scratch.write("é.toml", kModelAndDataset);
  CHECK(contains(mistakes_of("é.toml"), "\"é\" cannot be the name of an experiment"));
  CHECK(contains(mistakes_of("é.toml"), "ASCII letters"));
  CHECK(mistakes_of("é.toml", {"name=mine"}) == "");
}

TEST_CASE("a schedule's lower limit is not above lr, and onecycle's peak is its largest lr") {
  const auto told = [](const std::string& scheduler) {
    const Scratch scratch;
    scratch.write("x.toml",
                  "model = { name = \"mlp\", in_features = 4, hidden = [8], out_features = 3 }\n"
                  "dataset = { name = \"random_pairs\" }\noptimizer = { name = \"sgd\", lr = 0.1 }\n"
                  "validation.split = 0.5\nscheduler = " +
                      scheduler + "\n");
    return error_of([] { load("x.toml", {}, real_components()); });
  };
  for (const char* name : {"\"cosine\"", "\"polynomial\"", "\"plateau\"", "\"cosine_restarts\", period = 3"}) {
    INFO(name);
    CHECK(told("{ name = " + std::string(name) + ", min_lr = 0.1 }") == "");
    CHECK(contains(told("{ name = " + std::string(name) + ", min_lr = 0.2 }"), "is 0.2, above"));
  }
  CHECK(told("{ name = \"onecycle\", max_lr = 1, final_div_factor = 0.5 }") == "");
  CHECK(contains(told("{ name = \"onecycle\", div_factor = 0.5 }"), "div_factor\" 0.5 puts lr above the peak"));
  CHECK(contains(told("{ name = \"onecycle\", final_div_factor = 0.01 }"), "final_div_factor\" 0.01 puts lr above"));
}

TEST_CASE("a dataset without an end needs steps") {
  const std::string endless = "model = \"linear\"\ndataset = \"random_batch\"\n";
  CHECK(contains(mistakes(endless), "x.toml:2:11: dataset \"random_batch\" needs \"steps\""));
  CHECK(mistakes(endless + "steps = 3\n") == "");
}

TEST_CASE("checkpoints are judged by any metric in the list, in its own direction") {
  const std::string held_out =
      kModelAndDataset + "metrics = [\"accuracy\", \"auroc\", \"error_rate\", \"top5\"]\nvalidation.split = 0.1\n";
  const auto judged_by = [&](const std::string& metric) {
    return load_text(held_out + "checkpoint.metric = \"" + metric + "\"\n").experiment.best_metric();
  };
  CHECK(judged_by("val_auroc").direction == Direction::greater);
  CHECK(judged_by("val_accuracy").direction == Direction::greater);
  CHECK(judged_by("val_error_rate").direction == Direction::less);
  CHECK(judged_by("val_top5").direction == Direction::greater);
  CHECK(judged_by("train_loss").direction == Direction::less);
  CHECK(load_text(held_out).experiment.best_metric().name == "val_loss");
  CHECK(contains(said("checkpoint.metric = \"val_aurc\""), "did you mean \"val_auroc\"?"));
}

TEST_CASE(
    "the metric that judges checkpoints must be measured: the loss always is, accuracy if no metrics are listed") {
  const auto told = [](const std::string& metrics, const std::string& metric) {
    return said(metrics + "checkpoint.metric = \"" + metric + "\"\nvalidation.split = 0.1");
  };
  CHECK(told("", "val_accuracy") == "");
  CHECK(contains(told("", "val_auroc"), "give metrics = [\"accuracy\", \"auroc\"]"));
  CHECK(contains(told("metrics = [\"top5\"]\n", "val_top2"), "give metrics = [\"top5\", \"top2\"]"));
  CHECK(told("metrics = []\n", "val_loss") == "");
  CHECK(contains(told("metrics = []\n", "val_accuracy"), "\"val_accuracy\" is not measured"));
}

TEST_CASE("a metric in the list is a known one or one of a family") {
  CHECK(said("metrics = [\"accuracy\", \"top1\", \"top20\"]") == "");
  CHECK(contains(said("metrics = [\"acuracy\"]"), "did you mean \"accuracy\"?"));
  for (const std::string name : {"top", "topN", "top0", "accuracy1", ""}) {
    CHECK(contains(said("metrics = [\"" + name + "\"]"), "\"topN\" with a number for N"));
  }
}

TEST_CASE("a metric of held-out samples needs held-out samples") {
  CHECK(contains(said("checkpoint.metric = \"val_loss\""), "x.toml:3:21: \"val_loss\" needs held-out samples"));
  CHECK(contains(said("checkpoint.metric = \"val_loss\"\nvalidation.split = 0"), "needs held-out samples"));
  CHECK(said("checkpoint.metric = \"val_loss\"\nvalidation.split = 0.1") == "");
  CHECK(said("checkpoint.metric = \"train_loss\"") == "");
}

TEST_CASE("the short and the long form of one key in one file are an error") {
  CHECK(contains(said("backend = \"gloo\"\ndistributed.backend = \"gloo\""), "x.toml:4:13: \"backend\""));
  CHECK(contains(said("save_every = 1\n[checkpoint]\nsave_every = 2"), "x.toml:5:1: \"save_every\" is given twice"));
}

}  // namespace ddp::config
