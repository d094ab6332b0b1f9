// Training steps without the autograd engine.
#include <nlohmann/json.hpp>

#include "arrays.h"
#include "catch.h"
#include "experiments.h"
#include "run_folder.h"
#include "struck.h"
#include "workspace.h"

namespace ddp::system_test {

TEST_CASE("replayed steps have the bits of eager ones, the short last batch too") {
  const Workspace w;
  w.write("small.toml", kDropout);
  const RunFolder eager = w.done({"run", "small.toml", "--set", "replay=off"}).run;
  const RunFolder replayed = w.done({"run", "small.toml", "--set", "replay=require"}).run;
  CHECK(replayed.model() == eager.model());
  CHECK(replayed.optimizer() == eager.optimizer());
  CHECK(replayed.training() == eager.training());
  const Json of_eager = eager.summary().at("replay"), of_replayed = replayed.summary().at("replay");
  CHECK(of_eager == Json({{"steps", 0},
                          {"eager_steps", 24},
                          {"calls", 0},
                          {"own_calls", 0},
                          {"unused_parameters", 0},
                          {"reason", "replay = \"off\""},
                          {"reason_of_evaluations", nullptr}}));
  // The first two steps, and two recordings for each of the two sizes of a batch, one of them beside the first replay.
  CHECK(of_replayed.at("steps") == 18);
  CHECK(of_replayed.at("eager_steps") == 6);
  CHECK(of_replayed.at("reason").is_null());
  // The memory of dropout's mask and its division are ATen's: empty_like, div_.
  CHECK(of_replayed.at("calls").get<int>() - of_replayed.at("own_calls").get<int>() == 2);
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
  CHECK(run.summary().at("replay").at("steps") == 0);
  CHECK(run.summary().at("replay").at("reason") == reason);
  const Outcome failed = w.run({"run", "small.toml", "--set", "precision=fp16", "--set", "replay=require"});
  CHECK(failed.code != 0);
  CHECK(contains(failed.err, "a training step cannot be replayed: " + reason));
  CHECK(failed.run.events("step").empty());
}

TEST_CASE("plan says which steps would be replayed, with how many own kernels and how much memory, or why not") {
  const Workspace w;
  w.write("small.toml", kDropout);
  const Json replay = Json::parse(w.done({"plan", "small.toml", "--json"}).out).at("replay");
  CHECK(replay.at("reason").is_null());
  CHECK(replay.at("calls").get<int>() - replay.at("own_calls").get<int>() == 2);  // dropout's memory and division
  CHECK(replay.at("bytes") > 0);
  CHECK(replay.at("most_bytes") >= (256 << 20));
  CHECK(contains(w.done({"plan", "small.toml"}).out, " of them own kernels; its recording takes "));
  const Outcome off = w.done({"plan", "small.toml", "--set", "precision=fp16"});
  CHECK(contains(off.out, "replay       no: precision = \"fp16\" changes the scale of the loss\n"));
}

TEST_CASE("a replayed step that fails has the words of the layer") {
  const Workspace w;
  std::vector<std::int64_t> tokens(256 * 8), next(256 * 8);
  tokens[100 * 8 + 3] = 77;  // in step 13
  w.write("tokens.npy", npy_of("<i8", "(256, 8)", tokens));
  w.write("next.npy", npy_of("<i8", "(256, 8)", next));
  w.write("gpt.toml", R"(
model = { name = "gpt", n_layer = 1, n_head = 1, n_embd = 8, block_size = 8, vocab_size = 11 }
dataset = { name = "npy", inputs = "tokens.npy", targets = "next.npy" }
loss = "cross_entropy"
batch_size = 8
epochs = 1
device_pool = ["cpu"]
loader = { shuffle = false }
)");
  const Outcome failed = w.ends(1, {"run", "gpt.toml"}, {"has no row for some of them"});
  CHECK(failed.run.summary().at("replay").at("steps").get<int>() > 0);
}

}  // namespace ddp::system_test
