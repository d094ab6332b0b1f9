// The same bits on any number of ranks: logical_ranks.
#include <utility>

#include <nlohmann/json.hpp>

#include "catch.h"
#include "exported.h"
#include "run_folder.h"
#include "workspace.h"

namespace ddp::system_test {
namespace {

constexpr const char* kNet = R"(
dataset = { name = "digits" }
loss = "cross_entropy"
metrics = ["accuracy"]
batch_size = 8
steps = 10
logical_ranks = 4
optimizer = { name = "adamw", lr = 0.01 }
[model]
name = "sequential"
layers = [
  { type = "Linear", in_features = 64, out_features = 80 },
  { type = "BatchNorm1d", num_features = 80 },
  { type = "ReLU" },
  { type = "Dropout", p = 0.3 },
  { type = "Linear", in_features = 80, out_features = 10 },
]
)";
constexpr const char* kGpt = R"(
dataset = { name = "text", path = ["text.txt"], block_size = 16, sampling = "random" }
batch_size = 2
steps = 8
accumulate = 2
logical_ranks = 4
optimizer = { name = "adamw", lr = 1e-3 }
model = { name = "gpt", n_layer = 1, n_head = 2, n_embd = 16, dropout = 0.1 }
)";

std::string pool(int ranks) {
  std::string list = "\"cpu\"";
  for (int r = 1; r < ranks; ++r) list += ",\"cpu\"";
  return "device_pool=[" + list + "]";
}

Words run_words(const std::string& file, int ranks, const Words& sets) {
  return with_sets({"run", file, "--set", pool(ranks)}, sets);
}

std::string state_of(const RunFolder& run) {
  const auto latest = run.path() / "checkpoints" / "latest";
  std::string all = run.model() + run.optimizer() + run.training();
  if (std::filesystem::exists(latest / "ema.safetensors")) all += text_of(latest / "ema.safetensors");
  return all + json_of(latest / "state.json").at("rng").dump();
}

// Trains on 1, 2 and 4 ranks, which must write the same numbers.
void require_same(const Workspace& w, const std::string& file, const Words& sets = {}) {
  CAPTURE(file, sets);
  const std::string one = state_of(w.done(run_words(file, 1, sets)).run);
  for (const int ranks : {2, 4}) {
    CAPTURE(ranks);
    CHECK((state_of(w.done(run_words(file, ranks, sets)).run) == one));
  }
}

}  // namespace

TEST_CASE("a run has the same bits on any number of ranks that divides its logical ranks") {
  const Workspace w;
  w.write("net.toml", kNet);
  w.write("text.txt", text_of(std::filesystem::path("/usr/share/common-licenses/BSD")));
  w.write("gpt.toml", kGpt);
  require_same(w, "net.toml");
  require_same(w, "net.toml", {"distributed.backend=gloo", "clip.norm=0.1", "logical_ranks=8"});
  require_same(w, "net.toml", {"precision=fp16", "ema.decay=0.9", "validation.split=0.1"});
  require_same(w, "net.toml", {"accumulate=3", "distributed.shard=optimizer", "replay=off"});
  require_same(w, "net.toml", {R"(loss={name="cross_entropy",ignore_index=3})", "on_nan=skip", "precision=bf16"});
  require_same(w, "gpt.toml");
}

TEST_CASE("a parameter that is laid out by columns has the same bits on any number of ranks") {
  const ExportedWorkspace w;
  w.write("net.pt2", exported_model({{R"("strides": [{"as_int": 4}, {"as_int": 1}])",
                                      R"("strides": [{"as_int": 1}, {"as_int": 3}])"}}));
  require_same(w, "arrays.toml", {kExported, "logical_ranks=4"});
}

TEST_CASE("a run with synchronised batch norms has the same bits on any number of ranks, and resumed on others") {
  const Workspace w;
  w.write("net.toml", kNet);
  const std::string synced = "model.sync_batch_norm=true";
  require_same(w, "net.toml", {synced});
  require_same(w, "net.toml", {synced, "distributed.backend=gloo", "accumulate=2", "logical_ranks=8", "clip.norm=0.1"});
  require_same(w, "net.toml", {synced, "precision=fp16", "ema.decay=0.9", "distributed.shard=optimizer"});
  require_same(
      w, "net.toml",
      {synced, R"(loss={name="cross_entropy",ignore_index=3})", "on_nan=skip", "precision=bf16", "accumulate=2"});
  const std::string whole = state_of(w.done(run_words("net.toml", 2, {synced})).run);
  CHECK((state_of(w.done(run_words("net.toml", 2, {})).run) != whole));
  const RunFolder run = w.done(run_words("net.toml", 4, {synced, "steps=3"})).run;
  for (const auto& [ranks, steps] : {std::pair(1, "6"), std::pair(2, "10")}) {
    w.done({"resume", run.path().string(), "--set", std::string("steps=") + steps, "--set", pool(ranks)});
  }
  CHECK((state_of(run) == whole));
}

TEST_CASE("the batch norms of an exported model are synchronised with the same bits on any number of ranks") {
  const ExportedWorkspace w;
  w.write("net.pt2", exported_model(with_synced_norm()));
  require_same(w, "arrays.toml", {kExported, "logical_ranks=4", "model.sync_batch_norm=true"});
}

TEST_CASE("batch norms that cannot be synchronised are refused before training") {
  const Workspace w;
  w.write("net.toml", kNet);
  const auto refused = [&](const Words& sets, const std::string& said) {
    w.refused(with_sets({"run", "net.toml", "--set", "model.sync_batch_norm=true", "--unset", "logical_ranks"}, sets),
              {said});
  };
  refused({R"(model={name="mlp",hidden=[8],sync_batch_norm=true})"},
          "the model \"mlp\" has no batch norm that takes its statistics from a batch");
  refused({"distributed.find_unused_parameters=true"}, "needs the default value with sync_batch_norm");
  refused({"parallel=data_parallel", pool(2)}, "data_parallel has no ranks");
}

TEST_CASE("two logical ranks are the ranks of DDP") {
  const Workspace w;
  w.write("net.toml", kNet);
  const RunFolder logical = w.done(run_words("net.toml", 1, {"logical_ranks=2"})).run;
  std::string plain = kNet;
  plain.erase(plain.find("logical_ranks"), std::string("logical_ranks = 4\n").size());
  w.write("plain.toml", plain);
  CHECK((state_of(w.done(run_words("plain.toml", 2, {"threads=1"})).run) == state_of(logical)));
}

TEST_CASE("a run with logical ranks is resumed inside an epoch on other numbers of ranks with the same bits") {
  const Workspace w;
  w.write("net.toml", kNet);
  const RunFolder whole = w.done(run_words("net.toml", 2, {"ema.decay=0.9"})).run;
  const RunFolder run = w.done(run_words("net.toml", 4, {"ema.decay=0.9", "steps=3"})).run;
  const auto resume = [&](int ranks, const std::string& steps) {
    w.done({"resume", run.path().string(), "--set", "steps=" + steps, "--set", pool(ranks)});
  };
  resume(1, "6");
  resume(2, "8");
  resume(4, "10");
  CHECK((state_of(run) == state_of(whole)));
  const std::vector<Json> changes = run.events("world");
  REQUIRE(changes.size() == 3);
  CHECK(changes[1].at("step") == 6);
  CHECK(changes[1].at("ranks") == 2);
}

TEST_CASE("logical ranks that cannot be computed are refused before training") {
  const Workspace w;
  w.write("net.toml", kNet);
  const auto refused = [&](int ranks, const std::string& set) {
    const Outcome outcome = w.run(run_words("net.toml", ranks, {set}));
    CHECK(outcome.code == 2);
    return outcome.err;
  };
  CHECK(contains(refused(1, "logical_ranks=6"), "6 is not a power of two"));
  CHECK(contains(refused(3, "seed=1"), "3 ranks cannot divide 4 logical ranks among themselves"));
  CHECK(contains(refused(1, "batch_size=449"), "450 samples in an epoch is a batch of one sample"));
  // Only training divides the logical ranks.
  w.done(run_words("net.toml", 2, {"validation.split=0.2"}));
  const std::string measured = w.done({"eval", "net", "--json"}).out;
  CHECK(w.done({"eval", "net", "--json", "--set", pool(3)}).out == measured);
  CHECK(contains(refused(2, "distributed.find_unused_parameters=true"), "needs the default value with logical_ranks"));
}

}  // namespace ddp::system_test
