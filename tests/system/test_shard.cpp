// distributed.shard: each rank updates its share of the parameters.
#include <nlohmann/json.hpp>

#include "catch.h"
#include "experiments.h"
#include "run_folder.h"
#include "struck.h"
#include "workspace.h"

namespace ddp::system_test {
namespace {

// 2.4 MiB of optimizer state.
constexpr const char* kLarge = R"(
model = { name = "mlp", in_features = 100, hidden = [1024, 1024], out_features = 4 }
dataset = { name = "random_pairs", size = 64, features = 100, targets = 4 }
loss = "mse"
epochs = 2
batch_size = 8
optimizer = "adamw"
device_pool = ["cpu", "cpu"]
threads = 1
)";

// Trains with every rank updating all parameters, and with shares: both must write the same numbers.
void require_same(const Workspace& w, const std::string& file, Words sets) {
  CAPTURE(sets);
  sets.push_back("distributed.shard=none");
  const RunFolder whole = w.done(with_sets({"run", file}, sets)).run;
  sets.back() = "distributed.shard=optimizer";
  const RunFolder shares = w.done(with_sets({"run", file}, sets)).run;
  CHECK(whole.summary().at("shard") == "none");
  CHECK(shares.summary().at("shard") == "optimizer");
  CHECK(shares.model() == whole.model());
  CHECK(shares.optimizer() == whole.optimizer());
  CHECK(shares.training() == whole.training());
  const auto average = [](const RunFolder& run) { return run.path() / "checkpoints" / "latest" / "ema.safetensors"; };
  REQUIRE(std::filesystem::exists(average(shares)) == std::filesystem::exists(average(whole)));
  if (std::filesystem::exists(average(whole))) CHECK(text_of(average(shares)) == text_of(average(whole)));
}

}  // namespace

TEST_CASE("ranks that update shares of the parameters write the bits of ranks that update all") {
  const Workspace w;
  w.write("net.toml", kDropout);
  const Words three = {R"(device_pool=["cpu","cpu","cpu"])"};
  require_same(w, "net.toml", {});
  require_same(w, "net.toml", {three[0], "distributed.backend=gloo"});
  require_same(w, "net.toml", {three[0], "optimizer.name=sgd", "optimizer.momentum=0.9", "replay=off"});
  require_same(w, "net.toml", {"clip.norm=0.01", "accumulate=3"});
  require_same(w, "net.toml", {"precision=fp16"});
  require_same(w, "net.toml", {"precision=bf16", "ema.decay=0.9", "ema.every=3"});
  require_same(w, "net.toml", {three[0], "ema.decay=0.9", "validation.split=0.2", "freeze=[\"0.bias\"]"});
  require_same(w, "net.toml", {"distributed.gradient_as_bucket_view=false", "distributed.bucket_cap_mb=0.001"});
}

TEST_CASE("a run with divided updates is killed inside an epoch and resumed with the same bits") {
  const Workspace w;
  w.write("net.toml", kDropout);
  kill_and_resume(w, "net", {"distributed.shard=optimizer"});
}

TEST_CASE("a run goes on with other ranks and the other way to update") {
  const Workspace w;
  w.write("net.toml", kDropout);
  const auto model_after = [&](const std::string& first, const std::string& second) {
    const RunFolder run = w.done(with_sets({"run", "net.toml"}, {"epochs=2", "distributed.shard=" + first})).run;
    w.done({"resume", run.path().string(), "--set", "epochs=4", "--set", "distributed.shard=" + second, "--set",
            R"(device_pool=["cpu","cpu","cpu","cpu"])"});
    return run.model() + run.optimizer();
  };
  const std::string expected = model_after("none", "none");
  CHECK(model_after("optimizer", "none") == expected);
  CHECK(model_after("none", "optimizer") == expected);
  CHECK(model_after("optimizer", "optimizer") == expected);
}

TEST_CASE("auto divides the update of a large model whose ranks share memory, and plan says so") {
  const Workspace w;
  w.write("net.toml", kDropout);
  w.write("large.toml", kLarge);
  const RunFolder run = w.done({"run", "large.toml"}).run;
  CHECK(run.summary().at("shard") == "optimizer");
  CHECK(Json::parse(w.done({"plan", "large.toml", "--json"}).out).at("shard") == "optimizer");
  const auto row = [&](const std::string& file, const std::string& set) {
    return w.done({"plan", file, "--set", set}).out;
  };
  CHECK(contains(row("large.toml", "distributed.backend=gloo"), "shard        none: the ranks do not share memory\n"));
  CHECK(contains(row("large.toml", "optimizer.name=lars"), "shard        none: the optimizer lars looks at whole"));
  CHECK(contains(row("net.toml", "seed=1"), "shard        none: the model is small\n"));
}

TEST_CASE("an optimizer that looks at whole parameters cannot be divided") {
  const Workspace w;
  w.write("net.toml", kDropout);
  const Outcome failed = w.run(with_sets({"run", "net.toml"}, {"optimizer.name=lars", "distributed.shard=optimizer"}));
  CHECK(failed.code == 2);
  CHECK(contains(failed.err, "the optimizer lars looks at whole parameters"));
}

}  // namespace ddp::system_test
