// Data that are read block by block while they train (loader.stream).
#include "catch.h"
#include "run_folder.h"
#include "tables.h"
#include "workspace.h"

namespace ddp::system_test {
namespace {

namespace fs = std::filesystem;

constexpr const char* kStream = R"(
dataset = { name = "parquet", path = "part*.parquet", target = "diagnosis", normalise = "standard", missing = "drop" }
model = { name = "mlp", hidden = [8] }
loss = "cross_entropy"
optimizer = { name = "adam", lr = 0.01 }
device_pool = ["cpu", "cpu"]
threads = 1
batch_size = 16
epochs = 2
validation = { split = 0.2, stratify = true }
loader = { stream = true, window = 2 }
checkpoint = { save_every_steps = 17, keep_last = 100 }
)";

// Four files of one block each.
struct Streams : Workspace {
  Streams() {
    require_tables();
    for (const char part : {'1', '2', '3', '4'}) {
      fs::copy_file(fs::path(DDP_SOURCE) / "data/breast_cancer.parquet",
                    folder() / (std::string("part") + part + ".parquet"));
    }
    write("s.toml", kStream);
  }
  RunFolder train(const Words& sets = {}) const { return done(with_sets({"run", "s.toml"}, sets)).run; }
};

std::string bits_of(const RunFolder& run) { return run.model() + run.optimizer() + run.training(); }

}  // namespace

TEST_CASE("a stream without shuffle trains the bits of the table in memory") {
  const Streams w;
  const RunFolder stream = w.train({"loader.shuffle=false"});
  const RunFolder whole = w.train({"loader.shuffle=false", "loader.stream=false"});
  CHECK((bits_of(stream) == bits_of(whole)));
  CHECK(stream.summary().at("held_out") == whole.summary().at("held_out"));
}

TEST_CASE("a stream has the same bits with any workers and ranks, and resumed inside an epoch on others") {
  const Streams w;
  const RunFolder run = w.train({"logical_ranks=2"});
  const std::string bits = bits_of(run);
  CHECK((bits_of(w.train({"logical_ranks=2", "loader.workers=0"})) == bits));
  CHECK((bits_of(w.train({"logical_ranks=2", "device_pool=[\"cpu\"]", "loader.workers=3"})) == bits));
  CHECK((bits_of(w.train({"logical_ranks=2", "distributed.backend=gloo"})) == bits));
  CHECK((bits_of(w.train({"logical_ranks=2", "loader.window=1"})) != bits));
  for (const char* pool : {"device_pool=[\"cpu\"]", "device_pool=[\"cpu\", \"cpu\"]"}) {
    w.done({"resume", run.path().string(), "--from", "34", "--set", pool});
    CHECK((bits_of(run) == bits));
  }
}

TEST_CASE("a stream that cannot be is refused with its reason") {
  const Streams w;
  w.refused(with_sets({"run", "s.toml"}, {"loader.sample=balanced"}), {"each row once an epoch"});
  w.refused({"run", "s.toml", "--set", "dataset={name=\"digits\"}"}, {"cannot be read block by block"});
}

}  // namespace ddp::system_test
