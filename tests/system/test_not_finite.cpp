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

Outcome run_with(const Workspace& w, const std::string& file, const std::vector<std::string>& sets, int code) {
  std::vector<std::string> arguments{"run", file};
  for (const std::string& set : sets) arguments.insert(arguments.end(), {"--set", set});
  Outcome outcome = w.run(arguments);
  INFO(outcome.err);
  CHECK(outcome.code == code);
  return outcome;
}

}  // namespace

TEST_CASE("a loss that is not finite on a table of large numbers names first the settings that scale them") {
  const PricesWorkspace w;
  const std::string answer = run_with(w, "prices.toml", {}, 1).err;
  INFO(answer);
  CHECK(contains(answer, ", with inputs as large as "));
  CHECK(contains(answer,
                 "start a new run on a small scale: --set dataset.normalise_targets=true --set "
                 "dataset.normalise=standard, or give a smaller lr, such as --set optimizer.lr=0.01"));
  const std::vector<std::string> scaled{"dataset.normalise_targets=true", "dataset.normalise=standard"};
  run_with(w, "prices.toml", scaled, 0);
  // One of the two is set already.
  const std::string other = run_with(w, "prices.toml", {"dataset.normalise_targets=true"}, 1).err;
  INFO(other);
  CHECK(contains(other, "on a small scale: --set dataset.normalise=standard, or"));
}

TEST_CASE("a loss that is not finite under a huge lr names a usual lr, not a tenth of the huge one") {
  const PricesWorkspace w;
  const std::string answer =
      run_with(w, "prices.toml", {"dataset.normalise_targets=true", "dataset.normalise=standard", "optimizer.lr=1e30"},
               1)
          .err;
  INFO(answer);
  CHECK(contains(answer, "give a smaller lr, such as --set optimizer.lr=0.01, or --set on_nan=skip"));
}

TEST_CASE("a loss that is not finite under a small lr does not ask for a smaller one") {
  const PricesWorkspace w;
  w.write("x.npy", npy_of("<f4", "(8, 1)", std::vector<float>(8, 1e20f)));
  w.write("y.npy", npy_of("<f4", "(8, 1)", std::vector<float>(8, 0)));
  w.write(
      "arrays.toml",
      "dataset = { name = \"npy\", inputs = \"x.npy\", targets = \"y.npy\" }\nmodel = { name = \"mlp\", hidden = [] "
      "}\nloss = \"mse\"\noptimizer = { name = \"sgd\", lr = 1e-6 }\ndevice_pool = [\"cpu\"]\nthreads = 1\n");
  const std::string answer = run_with(w, "arrays.toml", {}, 1).err;
  INFO(answer);
  CHECK(contains(answer, "on a small scale: --set dataset.scale=1e-20"));
  CHECK_FALSE(contains(answer, "smaller lr"));
  run_with(w, "arrays.toml", {"dataset.scale=1e-20"}, 0);
  const std::string scaled = run_with(w, "arrays.toml", {"dataset.scale=1"}, 1).err;
  CHECK(contains(scaled, "look at the data and the model, for lr is small already"));
}

TEST_CASE("a loss that is not finite because of the data names them, and no lr") {
  ArrayData data(100);
  data.x[4 * 50] = std::numeric_limits<float>::quiet_NaN();
  const ArrayWorkspace w("npy", data);
  const std::string answer = run_with(w, "arrays.toml", {}, 1).err;
  INFO(answer);
  CHECK(contains(answer, "the data of this step hold inf or NaN: 1 of 16 inputs, the first at ["));
  CHECK(contains(answer, "correct these values in the data; or give --set on_nan=skip"));
  CHECK_FALSE(contains(answer, "lr"));
  // The value is in a micro-batch before the last one of its step.
  const std::string early =
      run_with(w, "arrays.toml", {"accumulate=4", "batch_size=10", "loader.shuffle=false"}, 1).err;
  INFO(early);
  CHECK(contains(early, "the data of this step hold inf or NaN: 1 of 40 inputs, the first at [5, 0] of [10, 4]"));
}

TEST_CASE("a run whose steps changed no weight ends with a warning that counts them") {
  ArrayData data(100);
  for (float& number : data.x) number = std::numeric_limits<float>::infinity();
  const ArrayWorkspace w("npy", data);
  const Outcome all = run_with(w, "arrays.toml", {"on_nan=skip"}, 0);
  INFO(all.err);
  CHECK(contains(all.err, "warning: all 26 steps changed no weight, because a loss or a gradient was not finite"));
  CHECK(contains(all.err, "correct these values"));
  CHECK_FALSE(contains(all.err, "on_nan=skip"));
  ArrayData once(100);
  once.x[0] = std::numeric_limits<float>::infinity();
  const ArrayWorkspace few("npy", once);
  CHECK_FALSE(contains(run_with(few, "arrays.toml", {"on_nan=skip"}, 0).err, "changed no weight"));
}

TEST_CASE("a run that skipped steps because of another rank's data names this rank, and no lr") {
  ArrayData data(100);
  // Without shuffling, rank 1 of two takes each second row.
  for (std::size_t row = 1; row < 100; row += 2) data.x[4 * row + 2] = std::numeric_limits<float>::infinity();
  const ArrayWorkspace w("npy", data);
  const Outcome run = run_with(w, "arrays.toml", {"on_nan=skip", "loader.shuffle=false"}, 0);
  INFO(run.err);
  CHECK(contains(run.err, "changed no weight, because the loss of rank 1 was not finite"));
  CHECK_FALSE(contains(run.err, "smaller lr"));
  const std::string stopped = run_with(w, "arrays.toml", {"on_nan=stop", "loader.shuffle=false"}, 1).err;
  INFO(stopped);
  CHECK(contains(
      stopped,
      "(first on rank 1), for the data of this step hold inf or NaN: 4 of 16 inputs, the first at [0, 2] of [4, 4]"));
}

TEST_CASE("a short run in fp16 whose loss scale is too large for all steps ends with a warning") {
  const ArrayWorkspace w;
  w.write("x.npy", npy_of("<f4", "(100, 4)", std::vector<float>(400, 1000)));
  const Outcome run = run_with(w, "arrays.toml", {"precision=fp16", "steps=3"}, 0);
  INFO(run.err);
  CHECK(contains(run.err, "warning: all 3 steps changed no weight"));
  CHECK(contains(run.err, "the loss scale of fp16 halves at each such step"));
  CHECK(contains(run.err, "--set precision=fp32"));
}

}  // namespace ddp::system_test
