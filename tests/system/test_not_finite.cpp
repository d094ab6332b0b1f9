#include <limits>

#include "arrays.h"
#include "catch.h"
#include "looking.h"
#include "tables.h"

// Losses that are not finite, and steps that change no weight.
namespace ddp::system_test {
namespace {

// Areas and prices far from a small scale.
struct PricesWorkspace : Workspace {
  PricesWorkspace() {
    require_tables();
    std::string rows = "area,price\n";
    for (int i = 1; i <= 64; ++i) rows += std::to_string(i * 100) + "," + std::to_string(i * 30000) + "\n";
    write("prices.csv", rows);
    write("prices.toml",
          "dataset = { name = \"csv\", path = \"prices.csv\", target = \"price\" }\n"
          "model = { name = \"mlp\", hidden = [] }\nloss = \"mse\"\noptimizer = { name = \"sgd\", lr = 0.1 }\n"
          "device_pool = [\"cpu\"]\nthreads = 1\nbatch_size = 8\nepochs = 2\n");
  }
};

}  // namespace

TEST_CASE("a loss that is not finite because of the data names them, and no lr") {
  ArrayData data(100);
  data.x[4 * 50] = std::numeric_limits<float>::quiet_NaN();
  const ArrayWorkspace w("npy", data);
  w.ends(1, with_sets({"run", "arrays.toml"}, {}),
         {"the data of this step hold inf or NaN: 1 of 16 inputs, the first at [",
          "correct these values in the data, or on_nan = \"skip\""});
  // The value is in a micro-batch before the last one of its step.
  w.ends(1, with_sets({"run", "arrays.toml"}, {"accumulate=4", "batch_size=10", "loader.shuffle=false"}),
         {"the data of this step hold inf or NaN: 1 of 40 inputs, the first at [5, 0] of [10, 4]"});
}

TEST_CASE("a run that skipped all its steps fails, and one that skipped most of them warns") {
  ArrayData data(100);
  // Without shuffling, rank 1 of two takes each second row.
  for (std::size_t row = 1; row < 100; row += 2) data.x[4 * row + 2] = std::numeric_limits<float>::infinity();
  const ArrayWorkspace w("npy", data);
  const Outcome all = w.ends(1, with_sets({"run", "arrays.toml"}, {"on_nan=skip", "loader.shuffle=false"}),
                             {"all 26 steps changed no weight, because a loss or a gradient was not finite"});
  CHECK(all.run.summary().at("status") == "failed");
  CHECK(all.run.summary().at("skipped_steps") == 26);
  const std::string stopped = w.ends(1, with_sets({"run", "arrays.toml"}, {"on_nan=stop", "loader.shuffle=false"})).err;
  CHECK(contains(
      stopped,
      "(first on rank 1), for the data of this step hold inf or NaN: 4 of 16 inputs, the first at [0, 2] of [4, 4]"));
  data.x[2 * 4 + 2] = data.x[3 * 4 + 2] = 0;
  for (std::size_t row = 1; row < 8; row += 2) data.x[4 * row + 2] = 0;
  const ArrayWorkspace most("npy", data);
  const Outcome warned = most.ends(0, with_sets({"run", "arrays.toml"}, {"on_nan=skip", "loader.shuffle=false"}),
                                   {"warning: 24 of 26 steps changed no weight"});
  CHECK(warned.run.summary().at("skipped_steps") == 24);
}

TEST_CASE("a resumed run counts the skipped steps of the whole run") {
  ArrayData data(100);
  data.x[0] = std::numeric_limits<float>::infinity();
  const ArrayWorkspace w("npy", data);
  const Outcome first = w.ends(0, with_sets({"run", "arrays.toml"}, {"on_nan=skip", "epochs=1"}));
  CHECK(first.run.summary().at("skipped_steps") == 1);
  const Outcome second = w.done({"resume", first.run.path(), "--set", "epochs=2"});
  CHECK(second.run.summary().at("skipped_steps") == 2);
}

TEST_CASE("a short run in fp16 whose loss scale is too large for all steps fails") {
  const ArrayWorkspace w;
  w.write("x.npy", npy_of("<f4", "(100, 4)", std::vector<float>(400, 1000)));
  w.ends(1, with_sets({"run", "arrays.toml"}, {"precision=fp16", "steps=3"}),
         {"all 3 steps changed no weight", "the loss scale of fp16 halves at each such step", "--set precision=fp32"});
}

namespace {

// One weight of 1e-15, and the inputs 1, 1e30, 1, 1: the loss of the second row is finite, and its gradient is not.
struct SteepWorkspace : Workspace {
  SteepWorkspace() {
    write("x.npy", npy_of("<f4", "(4, 1)", std::vector<float>{1, 1e30F, 1, 1}));
    write("y.npy", npy_of("<f4", "(4, 1)", std::vector<float>(4, 0)));
    std::string header =
        R"({"0.weight":{"dtype":"F32","shape":[1,1],"data_offsets":[0,4]},"0.bias":{"dtype":"F32","shape":[1],"data_offsets":[4,8]}})";
    while (header.size() % 8 != 0) header += ' ';
    write("w.safetensors", little_endian(header.size(), 8) + header + bytes_of_numbers(std::vector<float>{1e-15F, 0}));
    write("steep.toml",
          "dataset = { name = \"npy\", inputs = \"x.npy\", targets = \"y.npy\" }\n"
          "model = { name = \"mlp\", hidden = [] }\nloss = \"mse\"\ninit_from = \"w.safetensors\"\n"
          "device_pool = [\"cpu\", \"cpu\"]\nthreads = 1\nbatch_size = 1\nloader = { shuffle = false }\n");
  }
};

}  // namespace

TEST_CASE("a gradient that is not finite for a finite loss ends the run in its own step, with rank and parameter") {
  const SteepWorkspace w;
  for (const char* set : {"backend=shm", "backend=gloo", "precision=bf16", "clip.norm=1"}) {
    const Outcome run =
        w.ends(1, with_sets({"run", "steep.toml"}, {set}),
               {"the gradient of step 1 is not finite (first on rank 1), first in the parameter \"0.weight\", while "
                "the loss was finite; the weights were not changed"});
    CHECK(run.run.events("checkpoint").empty());
    const Outcome skipped = w.ends(0, with_sets({"run", "steep.toml"}, {set, "on_nan=skip"}));
    CHECK(skipped.run.summary().at("skipped_steps") == 1);
    CHECK(skipped.run.events("step").front().at("skipped") == true);
    CHECK_FALSE(skipped.run.events("step").back().contains("skipped"));
  }
  CHECK(contains(w.ends(1, with_sets({"run", "steep.toml"}, {"device_pool=[\"cpu\"]"})).err, "gradient of step 2"));
}

TEST_CASE("weights that an update made infinite are never saved, and the step before is blamed") {
  const PricesWorkspace w;
  const Outcome last = w.ends(1, with_sets({"run", "prices.toml"}, {"optimizer.lr=1e37", "steps=1"}),
                              {"after step 1, \"0.weight\" of the model is not finite: the updates were too large"});
  CHECK(last.run.events("checkpoint").empty());
  for (const char* on_nan : {"on_nan=stop", "on_nan=skip"}) {
    w.ends(1, with_sets({"run", "prices.toml"}, {"optimizer.lr=1e37", on_nan}),
           {"after step 1, the parameter \"0.weight\" is not finite"});
  }
}

TEST_CASE("outputs that are NaN have no metrics, and predict counts their rows") {
  ArrayData data(100);
  ArrayWorkspace w("npy", data);
  data.x[4 * 50] = std::numeric_limits<float>::quiet_NaN();
  w.write("v.npy", data.x_npy());
  const Outcome run = w.ends(
      0, with_sets({"run", "arrays.toml"}, {"validation.dataset.inputs=v.npy", "metrics=[\"top2\", \"confusion\"]"}),
      {"warning: the outputs of 1 sample of the validation set are NaN: the metrics have no value"});
  const Json epoch = run.run.events("epoch").back();
  CHECK(epoch.at("val_loss").is_null());
  CHECK(epoch.at("val_top2").is_null());
  CHECK(run.run.summary().at("best").at("value").is_null());
  CHECK_FALSE(run.run.summary().at("final").contains("val_confusion"));
  const Outcome eval = w.run({"eval", run.run.path()});
  CHECK(contains(eval.err, "the outputs of 1 sample of the validation set are NaN"));
  CHECK(contains(eval.out, "nan"));
  w.done({"predict", run.run.path(), "v.npy"}, {"the outputs of 1 row are not finite (inf or nan)"});
}

}  // namespace ddp::system_test
