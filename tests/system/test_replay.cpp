// Training steps without the autograd engine.
#include <nlohmann/json.hpp>

#include "catch.h"
#include "run_folder.h"
#include "struck.h"
#include "workspace.h"

namespace ddp::system_test {
namespace {

constexpr const char* kDropout = R"(
model = { name = "mlp", in_features = 20, hidden = [16], out_features = 4, dropout = 0.2 }
dataset = { name = "random_pairs", size = 90, features = 20, targets = 4 }
loss = "mse"
epochs = 4
batch_size = 8
optimizer = { name = "adamw", lr = 0.01 }
device_pool = ["cpu", "cpu"]
threads = 1
)";

}  // namespace

TEST_CASE("replayed steps have the bits of eager ones, the short last batch too") {
  const Workspace w;
  w.write("small.toml", kDropout);
  const RunFolder eager = w.done({"run", "small.toml", "--set", "replay=off"}).run;
  const RunFolder replayed = w.done({"run", "small.toml", "--set", "replay=require"}).run;
  CHECK(replayed.model() == eager.model());
  CHECK(replayed.optimizer() == eager.optimizer());
  CHECK(replayed.training() == eager.training());
  const Json of_eager = eager.summary().at("replay"), of_replayed = replayed.summary().at("replay");
  CHECK(of_eager == Json({{"steps", 0}, {"eager_steps", 24}, {"reason", "replay = \"off\""}}));
  // The first two steps, and two recordings for each of the two sizes of a batch.
  CHECK(of_replayed == Json({{"steps", 18}, {"eager_steps", 6}, {"reason", nullptr}}));
}

TEST_CASE("a run with replayed steps is killed inside an epoch and resumed with the same bits") {
  const Workspace w;
  w.write("small.toml", kDropout);
  kill_and_resume(w, "small", {"replay=require"});
}

TEST_CASE("a run that cannot be replayed says why, and require makes it an error before training") {
  const Workspace w;
  w.write("small.toml", kDropout);
  const std::string reason = "precision = \"fp16\" changes the scale of the loss";
  const RunFolder run = w.done({"run", "small.toml", "--set", "precision=fp16"}).run;
  CHECK(run.summary().at("replay") == Json({{"steps", 0}, {"eager_steps", 24}, {"reason", reason}}));
  const Outcome failed = w.run({"run", "small.toml", "--set", "precision=fp16", "--set", "replay=require"});
  CHECK(failed.code != 0);
  CHECK(contains(failed.err, "a training step cannot be replayed: " + reason));
  CHECK(failed.run.events("step").empty());
}

}  // namespace ddp::system_test
