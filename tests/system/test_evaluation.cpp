#include "catch.h"
#include "finished_run.h"
#include "words.h"

namespace ddp::system_test {
namespace {

const std::string kClasses =
    "model = { name = \"mlp\", in_features = 32, hidden = [8], out_features = 10 }\n"
    "dataset = { name = \"counting\", size = 203 }\nbatch_size = 8\nepochs = 2\nthreads = 1\n"
    // Weights keep their first values, so every number of ranks measures the same model.
    "optimizer = { name = \"sgd\", lr = 0.0 }\n[validation]\nsplit = 0.5\n";

// The metrics of the last epoch, bit for bit.
std::string measured(const RunFolder& run) {
  const Json line = run.events("epoch").back();
  return line.at("val_loss").dump() + " " + line.at("val_accuracy").dump();
}

}  // namespace

TEST_CASE("validation has the same bits on any number of ranks and loader threads") {
  const std::string alone = measured(FinishedRun(kClasses, {R"(device_pool=["cpu"])"}).run);
  CHECK_FALSE(contains(alone, "null"));
  for (const std::string pool : {R"(device_pool=["cpu", "cpu"])", R"(device_pool=["cpu", "cpu", "cpu"])"}) {
    for (const std::string workers : {"loader.workers=0", "loader.workers=2"}) {
      INFO(pool << ", " << workers);
      CHECK(measured(FinishedRun(kClasses, {pool, workers}).run) == alone);
    }
  }
  const std::string sixteen =
      R"(device_pool=["cpu","cpu","cpu","cpu","cpu","cpu","cpu","cpu","cpu","cpu","cpu","cpu","cpu","cpu"])";
  INFO("more ranks than batches");
  CHECK(measured(FinishedRun(kClasses, {sixteen, "batch_size=2", "validation.batch_size=8"}).run) == alone);
}

TEST_CASE("a run keeps the batch size of its validation when it resumes with other ranks and batches") {
  const FinishedRun f(kClasses, {R"(device_pool=["cpu"])"});
  const std::string before = measured(f.run);
  f.resume({"small", "--set", "epochs=3", "--set", R"(device_pool=["cpu", "cpu"])"});
  CHECK(measured(f.run) == before);
  CHECK(contains(text_of(f.run.path() / "config.toml"), "batch_size = 8\n"));
}

TEST_CASE("a batch size for validation without validation has no effect, with a warning") {
  const Workspace w("small.toml", kSmall);
  CHECK(contains(w.run({"run", "small.toml", "--set", "validation.batch_size=4"}).err, "batch_size\" has no effect"));
}

}  // namespace ddp::system_test
