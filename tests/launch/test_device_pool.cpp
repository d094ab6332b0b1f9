#include "base/error.h"
#include "catch.h"
#include "launch/plan/devices.h"
#include "launch/plan/plan.h"
#include "words.h"

namespace ddp::launch {
namespace {

using Groups = std::vector<std::vector<std::string>>;
using config::Value;

std::vector<Gpu> gpus(int count) {
  std::vector<Gpu> list;
  for (int g = 0; g < count; ++g) {
    list.push_back({.name = "Fake", .pci = "0000:0" + std::to_string(g) + ":00.0", .uuid = "GPU-" + std::to_string(g)});
  }
  return list;
}

// The backends of dist/backends, which this program does not link.
const config::Components& backends() {
  static const config::Components known = [] {
    config::Components all;
    all.add("backend", {.name = "gloo", .options = {}, .traits = {{"choice", 3}}});
    all.add("backend", {.name = "nccl", .options = {}, .traits = {{"choice", 1}, {"devices", "cuda"}}});
    all.add("backend",
            {.name = "shm", .options = {}, .traits = {{"choice", 2}, {"devices", "cpu"}, {"shares_memory", true}}});
    return all;
  }();
  return known;
}

// An experiment with this pool, as if read from a file.
config::Loaded experiment(const Value& pool, std::optional<std::int64_t> devices_per_rank = {},
                          const std::string& parallel = "ddp") {
  config::Loaded loaded;
  loaded.file = "x.toml";
  loaded.experiment.resolve(backends());
  loaded.experiment.device_pool = pool;
  loaded.experiment.devices_per_rank = devices_per_rank;
  loaded.experiment.parallel = parallel;
  loaded.strategy = {.one_process = parallel != "ddp", .all_devices = parallel == "data_parallel"};
  return loaded;
}

// Returns the error of planning an experiment; "" if it succeeds.
template <class Function>
std::string refusal(Function function) {
  try {
    function();
    return "";
  } catch (const Error& error) {
    return error.exit_code() == 2 ? error.what() : "the exit code is not 2";
  }
}

bool is_refused(const config::Loaded& loaded, int gpu_count, const std::string& said) {
  return refusal([&] { device_groups(loaded, gpus(gpu_count)); }).find(said) != std::string::npos;
}

}  // namespace

TEST_CASE("auto takes every GPU, or two CPU ranks on a machine without GPUs") {
  CHECK(device_groups(experiment("auto"), gpus(3)) == Groups{{"cuda:0"}, {"cuda:1"}, {"cuda:2"}});
  CHECK(device_groups(experiment("auto"), {}) == Groups{{"cpu"}, {"cpu"}});
  CHECK(device_groups(experiment("auto", 2), gpus(5)) == Groups{{"cuda:0", "cuda:1"}, {"cuda:2", "cuda:3"}});
  CHECK(device_groups(experiment("auto", {}, "single"), gpus(3)) == Groups{{"cuda:0"}});
  CHECK(device_groups(experiment("auto", {}, "single"), {}) == Groups{{"cpu"}});
  CHECK(is_refused(experiment("auto", 4), 3, "needs 4 devices, this machine has 3"));
}

TEST_CASE("a number takes this many groups of GPUs, or CPU ranks on a machine without GPUs") {
  CHECK(device_groups(experiment(2), gpus(4)) == Groups{{"cuda:0"}, {"cuda:1"}});
  CHECK(device_groups(experiment(2, 2), gpus(4)) == Groups{{"cuda:0", "cuda:1"}, {"cuda:2", "cuda:3"}});
  CHECK(device_groups(experiment(3), {}) == Groups{{"cpu"}, {"cpu"}, {"cpu"}});
  CHECK(is_refused(experiment(5), 4, "needs 5 devices, this machine has 4"));
  CHECK(is_refused(experiment(3, 2), 4, "needs 6 devices, this machine has 4"));
}

TEST_CASE("a list of numbers takes those GPUs in that order") {
  CHECK(device_groups(experiment({1, 5, 6, 7}), gpus(8)) == Groups{{"cuda:1"}, {"cuda:5"}, {"cuda:6"}, {"cuda:7"}});
  CHECK(device_groups(experiment({1, 5, 6, 7}, 2), gpus(8)) == Groups{{"cuda:1", "cuda:5"}, {"cuda:6", "cuda:7"}});
  CHECK(is_refused(experiment({1, 5, 6, 7}), 7, "needs 8 devices, this machine has 7"));
  CHECK(is_refused(experiment({1, 5, 6, 7}), 2, "needs 8 devices, this machine has 2"));
  CHECK(is_refused(experiment({1, 5, 6}, 2), 8, "3 devices cannot be divided into groups of 2"));
  CHECK(is_refused(experiment({0}), 0, "no GPU is visible"));
}

TEST_CASE("nested lists are the groups themselves") {
  CHECK(device_groups(experiment({{0, 1}, {2, 3}}), gpus(4)) == Groups{{"cuda:0", "cuda:1"}, {"cuda:2", "cuda:3"}});
  CHECK(is_refused(experiment({{0, 1}, {2, 3}}), 3, "needs 4 devices, this machine has 3"));
  CHECK(is_refused(experiment({{0, 1}, {2, 3}}, 4), 4, "devices_per_rank says 4"));
}

TEST_CASE("CPUs are named once per rank") {
  CHECK(device_groups(experiment({"cpu", "cpu", "cpu"}), {}) == Groups{{"cpu"}, {"cpu"}, {"cpu"}});
  CHECK(device_groups(experiment({"cpu", "cpu"}), gpus(4)) == Groups{{"cpu"}, {"cpu"}});
  CHECK(is_refused(experiment({"cpu", "cpu"}, {}, "single"), 0, "single trains on one device"));
}

TEST_CASE("data_parallel takes the whole pool in one rank") {
  const auto split = [](const Value& pool) { return experiment(pool, {}, "data_parallel"); };
  CHECK(device_groups(split("auto"), gpus(3)) == Groups{{"cuda:0", "cuda:1", "cuda:2"}});
  CHECK(device_groups(split("auto"), {}) == Groups{{"cpu", "cpu"}});
  CHECK(device_groups(split(2), gpus(3)) == Groups{{"cuda:0", "cuda:1"}});
  CHECK(device_groups(split({2, 0}), gpus(3)) == Groups{{"cuda:2", "cuda:0"}});
  CHECK(device_groups(split(Value::array({{2, 0}})), gpus(3)) == Groups{{"cuda:2", "cuda:0"}});
  CHECK(is_refused(split(4), 3, "needs 4 devices, this machine has 3"));
  CHECK(is_refused(split({{0, 1}, {2, 3}}), 4, "data_parallel is one rank, and this is a pool of 2 groups"));
  config::Loaded spread = split("auto");
  CHECK(make_plan(spread, {}).world_size() == 1);
  CHECK(make_plan(spread, gpus(2)).experiment.device_pool == Value{0, 1});
  CHECK(is_refused(experiment("auto", 2, "data_parallel"), 4, "one rank with all 4 devices"));
  spread.model_devices = 2;
  CHECK(contains(refusal([&] { make_plan(spread, {}); }), "is spread over its devices"));
}

TEST_CASE("a plan sets everything that the file leaves open") {
  const Plan cpu = make_plan(experiment("auto"), {});
  CHECK(cpu.world_size() == 2);
  CHECK_FALSE(cpu.uses_gpus());
  CHECK(cpu.experiment.device_pool == Value{"cpu", "cpu"});
  CHECK(cpu.experiment.distributed.backend == "shm");
  CHECK(cpu.experiment.batch_size == 32);
  CHECK(cpu.experiment.epochs == 1);
  CHECK(*cpu.experiment.threads >= 1);
  CHECK(cpu.device_name(1) == "cpu");
  // One process has no backend: a stored backend would bind a run that resumes elsewhere.
  CHECK(make_plan(experiment({0}, {}, "single"), gpus(1)).experiment.distributed.backend == "auto");

  config::Loaded spread = experiment({{1, 2}, {3, 0}});
  spread.model_devices = 2;
  const Plan gpu = make_plan(spread, gpus(4));
  CHECK(gpu.uses_gpus());
  CHECK(gpu.experiment.device_pool == Value{{1, 2}, {3, 0}});
  CHECK_FALSE(gpu.experiment.devices_per_rank);
  CHECK(gpu.experiment.distributed.backend == "nccl");
  CHECK(gpu.device_name(0) == "cuda:1 Fake (0000:01:00.0, GPU-1) + cuda:2 Fake (0000:02:00.0, GPU-2)");
}

TEST_CASE("a model gets no more devices than it can use") {
  config::Loaded loaded = experiment(Value::array({{"cpu", "cpu"}, {"cpu", "cpu"}}));
  loaded.experiment.model.name = "linear";
  const auto said = [&] { return refusal([&] { make_plan(loaded, {}); }); };
  CHECK(contains(said(), "model \"linear\" uses one device, device_pool gives each rank 2"));
  loaded.model_devices = 2;
  CHECK(said() == "");
  loaded.experiment.device_pool = Value::array({{"cpu", "cpu", "cpu"}});
  CHECK(contains(said(), "uses at most 2 devices, device_pool gives each rank 3"));
  loaded.experiment.device_pool = {"cpu", "cpu", "cpu"};
  CHECK(said() == "");
}

TEST_CASE("a global batch is divided over ranks and micro-batches, or the nearest valid sizes are named") {
  config::Loaded loaded = experiment({"cpu", "cpu", "cpu"});
  loaded.experiment.accumulate = 2;
  loaded.experiment.global_batch_size = 48;
  const Plan plan = make_plan(loaded, {});
  CHECK(plan.experiment.batch_size == 8);
  CHECK_FALSE(plan.experiment.global_batch_size.has_value());
  loaded.experiment.global_batch_size = 50;
  CHECK(contains(refusal([&] { make_plan(loaded, {}); }), "global_batch_size = 48 or 54"));
  loaded.experiment.global_batch_size = 5;
  CHECK(contains(refusal([&] { make_plan(loaded, {}); }), "global_batch_size = 6"));
}

TEST_CASE("shm is refused if a rank has a GPU") {
  config::Loaded loaded = experiment({0, 1});
  loaded.experiment.distributed.backend = "shm";
  CHECK(contains(refusal([&] { make_plan(loaded, gpus(2)); }), "shm"));
}

TEST_CASE("nccl is refused if a rank has no GPU") {
  config::Loaded loaded = experiment({"cpu", "cpu"});
  loaded.experiment.distributed.backend = "nccl";
  CHECK(contains(refusal([&] { make_plan(loaded, gpus(2)); }), "nccl"));
}

TEST_CASE("steps of an epoch follow from samples, ranks, batch and accumulation") {
  config::Loaded loaded = experiment({"cpu", "cpu"});
  loaded.experiment.batch_size = 8;
  loaded.experiment.epochs = 3;
  loaded.experiment.validation.split = 0.1;
  rank::Probe probe;
  probe.train_samples = 91;
  probe.validation_samples = 10;
  config::Length length = length_of_run(loaded, make_plan(loaded, {}), probe);
  CHECK(length.steps_per_epoch == 6);
  CHECK(length.steps == 18);
  loaded.experiment.accumulate = 4;
  length = length_of_run(loaded, make_plan(loaded, {}), probe);
  CHECK(length.steps_per_epoch == 2);
  loaded.experiment.loader.drop_last = true;
  probe.train_samples = 1;
  probe.validation_samples = 0;
  loaded.experiment.validation.split = 0;
  const std::string said = refusal([&] { length_of_run(loaded, make_plan(loaded, {}), probe); });
  CHECK(contains(said, "drops everything"));
}

TEST_CASE("the largest world divides the logical ranks, with as many ranks on each of its nodes") {
  const auto ranks = [](std::int64_t logical, const std::vector<int>& available) {
    const World world = largest_world(logical, available);
    return std::pair(world.nodes, world.ranks_here);
  };
  CHECK(ranks(8, {2, 2, 2, 2}) == std::pair(4, 2));
  CHECK(ranks(8, {2, 2, 2}) == std::pair(2, 2));
  CHECK(ranks(8, {2, 1, 2, 2}) == std::pair(2, 2));
  CHECK(ranks(8, {1, 4, 4}) == std::pair(2, 1));
  CHECK(ranks(4, {3}) == std::pair(1, 2));
  CHECK(ranks(1, {5, 5}) == std::pair(1, 1));
  CHECK(not_lost(4, {0, 2}, 2) == std::vector{1, 3});
}

}  // namespace ddp::launch
