// audit and reproduce: parts of a run, or all of it, are trained again and compared bit for bit.
#include <csignal>

#include <nlohmann/json.hpp>

#include "catch.h"
#include "run_folder.h"
#include "workspace.h"

namespace ddp::system_test {
namespace {

namespace fs = std::filesystem;

// Dropout, momentum, epochs with a short batch, saves inside epochs.
constexpr const char* kAudited = R"(
dataset = { name = "random_pairs", size = 101, features = 67, targets = 5 }
optimizer = { name = "adam", lr = 0.01 }
batch_size = 8
epochs = 2
threads = 1
device_pool = ["cpu", "cpu"]
checkpoint = { save_every_steps = 3, keep_last = 100 }
ema = { decay = 0.9 }
validation = { split = 0.1 }
[model]
name = "sequential"
layers = [
  { type = "Linear", in_features = 67, out_features = 129 },
  { type = "LayerNorm", normalized_shape = 129 },
  { type = "GELU" },
  { type = "Dropout", p = 0.2 },
  { type = "Linear", in_features = 129, out_features = 5 },
]
)";

Json audit_of(const fs::path& run) { return json_of(run / "audit.json"); }

// No folder of the parts stays.
void check_nothing_left(const fs::path& run) { CHECK_FALSE(fs::exists(run / ".audit")); }

}  // namespace

TEST_CASE("audit trains the stretches between checkpoints again, and all bits are the same") {
  const Workspace w("a.toml", kAudited);
  const fs::path run = w.done({"run", "a.toml", "--run-id", "r"}).run.path();
  w.done({"resume", "a/r", "--set", "optimizer.lr=0.02", "--set", "epochs=3"});
  const Outcome audit = w.done({"audit", "a/r"});
  CHECK(contains(audit.out, "steps 4 to 6: same bits"));
  const Json report = audit_of(run);
  CHECK(report.at("same") == true);
  CHECK(report.at("stretches").size() == 5);
  CHECK(report.at("then").at("cpu_capability") == report.at("now").at("cpu_capability"));
  check_nothing_left(run);
  const Outcome some = w.done({"audit", run.string(), "--stretches", "2", "--json"});
  CHECK(Json::parse(some.out) == audit_of(run));
  CHECK(audit_of(run).at("stretches").size() == 2);
  w.refused({"audit", "a/r", "--device-pool", "1"}, {"computed by 2 ranks, and this command has 1"});
  check_nothing_left(run);
}

TEST_CASE("reproduce trains a run with all its changes and its fork again, on another number of ranks") {
  const Workspace w("a.toml", kAudited);
  w.done({"run", "a.toml", "--run-id", "r", "--set", "logical_ranks=4", "--set",
          R"(groups=[{match="*.bias",lr_scale=0.5}])"});
  w.done({"resume", "a/r", "--set", "optimizer.lr=0.02", "--set", "epochs=3", "--set",
          R"(groups=[{match="*.bias",lr_scale=0.1}])"});
  w.done({"fork", "a/r", "--from", "6", "--run-id", "f", "--set", "optimizer.lr=0.005", "--set", "epochs=3"});
  w.done({"fork", "a/r", "--from", "6", "--name", "other", "--run-id", "g", "--set", "epochs=3"});
  for (const char* run : {"a/r", "a/f", "other/g"}) {
    const Json again = Json::parse(w.done({"reproduce", run, "--device-pool", "1", "--json"}).out);
    CHECK(again.at("same") == true);
    const RunFolder folder(w.folder() / again.at("again").get<std::string>());
    CHECK(audit_of(folder.path()) == again);
    CHECK((folder.model() == RunFolder(w.results() / run).model()));
  }
  w.refused({"reproduce", "a/r", "--device-pool", "3"}, {"3 ranks cannot divide 4 logical ranks"});
  w.refused({"reproduce", "a/r", "--run-id", "f"}, {"is no reproduction of"});
  CHECK(std::distance(fs::directory_iterator(w.results() / "a"), {}) == 5);  // r, f, two reproductions, `latest`
  w.done({"audit", "a/f", "--device-pool", R"(["cpu","cpu","cpu","cpu"])"});
}

TEST_CASE("an audit of a fork that has neither two checkpoints nor its origin's says so, and so does reproduce") {
  const Workspace w("a.toml", kAudited);
  w.done({"run", "a.toml", "--run-id", "r"});
  w.done({"fork", "a/r", "--from", "6", "--run-id", "f", "--set", "checkpoint.keep_last=1"});
  fs::remove_all(RunFolder(w.results() / "a/r").checkpoint(6));
  for (const char* command : {"audit", "reproduce"}) {
    w.refused({command, "a/f"}, {"is a fork, and its origin has lost the checkpoint of step 6", "keep_last"});
  }
}

TEST_CASE("a run that was killed, went on with other ranks twice, and was moved has the bits of its reproduction") {
  const Workspace w("a.toml", kAudited);
  const auto pool = [](int ranks) { return Words{"--set", "device_pool=" + std::to_string(ranks)}; };
  const auto first = w.start(joined({"run", "a.toml", "--set", "logical_ranks=8", "--set", "epochs=100"}, pool(2)));
  const fs::path run = w.running(*first, "a", 20).path();
  first->kill();
  const auto second = w.start(joined({"resume", "a"}, pool(1)));
  REQUIRE(wait_until([&] { return !RunFolder(run).events("world").empty() && RunFolder(run).last_step() > 60; },
                     second->pid()));
  w.stop(*second);
  w.done(joined({"resume", "a", "--set", "epochs=120"}, pool(4)));
  CHECK(RunFolder(run).events("world").back().at("ranks") == 4);
  const fs::path moved = w.folder() / "moved here";
  fs::rename(run, moved);
  w.done({"audit", moved.string(), "--stretches", "5", "--device-pool", "2"});
  CHECK(audit_of(moved).at("same") == true);
  const Json again = Json::parse(w.done({"reproduce", moved.string(), "--device-pool", "1", "--json"}).out);
  CHECK(again.at("same") == true);
  CHECK(again.at("stretches").at(0).at("to") == RunFolder(moved).last_step());
}

TEST_CASE("audit names the first tensor that differs, and what differs of the machine") {
  const Workspace w("a.toml", kAudited);
  const fs::path run = w.done({"run", "a.toml", "--run-id", "r"}).run.path();
  if (json_of(run / "summary.json").at("environment").at("cpu_capability") == "default") return;
  const Outcome audit =
      w.ends(1, {"audit", "a/r", "--stretches", "1"}, {"cpu_capability: "}, {{"ATEN_CPU_CAPABILITY", "default"}});
  CHECK(contains(audit.out, "other bits: "));
  CHECK(contains(audit.out, "safetensors: "));
  CHECK(audit_of(run).at("same") == false);
  CHECK(audit_of(run).at("differences").size() == 1);
}

TEST_CASE("audit refuses data and sources that have changed, before it trains") {
  const Workspace w("t.toml", R"(
dataset = { name = "csv", path = "t.csv", target = "y" }
model = { name = "mlp", hidden = [4] }
epochs = 3
device_pool = ["cpu"]
save_every = 1
checkpoint.keep_last = 100
loss = "mse"
)");
  std::string rows = "a,b,y\n";
  for (int i = 0; i < 40; ++i)
    rows += std::to_string(i % 7) + "," + std::to_string(i % 5) + "," + std::to_string(i % 2) + "\n";
  w.write("t.csv", rows);
  const fs::path run = w.done({"run", "t.toml", "--run-id", "r"}).run.path();
  w.write("t.csv", rows);  // the same content at another time
  w.done({"audit", "t/r"});
  rows.back() = ' ';
  w.write("t.csv", rows);
  w.refused({"audit", "t/r"}, {"t.csv"});
  w.refused({"reproduce", "t/r"}, {"t.csv"});
  CHECK(std::distance(fs::directory_iterator(w.results() / "t"), {}) == 2);  // the run and `latest`
}

TEST_CASE("a stopped audit leaves nothing, a stopped reproduction goes on") {
  const Workspace w("a.toml", kAudited);
  const fs::path run = w.done({"run", "a.toml", "--run-id", "r", "--set", "epochs=100"}).run.path();
  const auto audit = w.start({"audit", "a/r"});
  REQUIRE(wait_until([&] { return contains(audit->out(), "same bits"); }, audit->pid()));
  audit->signal(SIGINT);
  CHECK(w.finish(*audit).code == 130);
  check_nothing_left(run);
  const auto again = w.start({"reproduce", "a/r", "--run-id", "again"});
  const RunFolder half(w.results() / "a/again");
  REQUIRE(wait_until([&] { return fs::exists(half.path() / "metrics.jsonl") && half.last_step() > 20; }, again->pid()));
  w.stop(*again);
  const Outcome done = w.done({"reproduce", "a/r", "--run-id", "again"});
  CHECK(contains(done.out, "same bits"));
}

}  // namespace ddp::system_test
