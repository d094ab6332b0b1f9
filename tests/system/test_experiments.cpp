#include <algorithm>
#include <cmath>
#include <set>

#include "experiments.h"

namespace ddp::system_test {
namespace fs = std::filesystem;
namespace {

std::vector<int> saved_epochs(const RunFolder& run) {
  std::vector<int> epochs;
  for (const auto& line : run.events("checkpoint")) epochs.push_back(line.at("epoch"));
  return epochs;
}

std::int64_t peak_kib(pid_t pid) {
  const std::string status = text_of("/proc/" + std::to_string(pid) + "/status");
  const auto line = status.find("VmHWM:");
  return line == std::string::npos ? 0 : std::stoll(status.substr(line + 6));
}

// The peak memory of the ranks of hpc.toml after they trained for more than an epoch on this many samples.
std::int64_t peak_of_counting(const Workspace& w, std::int64_t samples) {
  const std::string name = "samples-" + std::to_string(samples);
  const auto process = w.start({"run", kExperiments / "hpc.toml", "--name", name, "--set",
                                "device_pool=[[\"cpu\", \"cpu\"], [\"cpu\", \"cpu\"]]", "--set", "epochs=100000",
                                "--set", "dataset.size=" + std::to_string(samples)});
  w.running(*process, name, 600);
  std::int64_t peak = 0;
  for (const pid_t rank : process->ranks()) peak = std::max(peak, peak_kib(rank));
  process->signal(SIGINT);
  process->wait();
  return peak;
}

}  // namespace

TEST_CASE("demo_basic takes one step on each device and each rank prints its device") {
  const Workspace w;
  const Outcome run = train(w, "demo_basic");
  CHECK(run.run.summary().at("devices") == Json{"cpu", "cpu"});
  CHECK(run.run.has_each_step_once(1));
  CHECK(run.run.events("step")[0].at("samples") == 40);
  for (int rank = 0; rank < 2; ++rank) CHECK(contains(run.run.log(rank), "Running toy on cpu"));
  CHECK(contains(run.run.log(0), "[CPU0] Epoch 0 | Batchsize: 20 | Steps: 1"));
  CHECK(contains(run.run.log(1), "[CPU1] Epoch 0 | Batchsize: 20 | Steps: 1"));
}

TEST_CASE("demo_checkpoint saves and loads before its step and leaves demo_basic's numbers and no such checkpoint") {
  const Workspace w;
  const Outcome plain = train(w, "demo_basic");
  const Outcome rehearsed = train(w, "demo_checkpoint");
  check_same(rehearsed.run, plain.run);
  CHECK(rehearsed.run.listing() == plain.run.listing());
  // If that checkpoint cannot be written, the run makes no step.
  w.write("results/blocked/r/checkpoints/.rehearsal", "in the way");
  const Outcome blocked =
      w.ends(1, {"run", kExperiments / "demo_checkpoint.toml", "--name", "blocked", "--run-id", "r"}, {".rehearsal"});
  CHECK(RunFolder(w.results() / "blocked" / "r").last_step() == 0);
}

TEST_CASE("demo_model_parallel gives each rank two devices") {
  const Workspace w;
  const Outcome groups =
      train(w, "demo_model_parallel", {"device_pool=[[\"cpu\", \"cpu\"], [\"cpu\", \"cpu\"]]", "steps=9"});
  CHECK(groups.run.summary().at("devices") == Json{"cpu + cpu", "cpu + cpu"});
  CHECK(contains(groups.run.log(1), "Running toy_mp on cpu + cpu"));
  CHECK(groups.run.has_each_step_once(9));
  const Outcome flat = train(w, "demo_model_parallel", {"device_pool=[\"cpu\", \"cpu\", \"cpu\", \"cpu\"]", "steps=9"});
  CHECK(flat.run.model() == groups.run.model());
  w.refused({"run", kExperiments / "demo_model_parallel.toml", "--set", "device_pool=[\"cpu\"]"},
            {"1 device cannot be divided into groups of 2"});
}

TEST_CASE("a checkpoint of ranks with two devices resumes with one device each and the other way round") {
  const Workspace w;
  const Words pools{"device_pool=[[\"cpu\", \"cpu\"], [\"cpu\", \"cpu\"]]", kTwoCpus};
  const Outcome whole = train(w, "demo_model_parallel", {pools[0], "steps=8"});
  for (const auto& [first, then] : {std::pair{pools[0], pools[1]}, std::pair{pools[1], pools[0]}}) {
    Words sets{first, "steps=5"};
    if (first == kTwoCpus) sets.push_back("devices_per_rank=1");
    const Outcome half = train(w, "demo_model_parallel", sets);
    const Outcome rest = w.done({"resume", half.run.path(), "--set", then, "--set", "steps=8"});
    check_same(rest.run, whole.run);
    CHECK(rest.run.summary().at("devices") == (then == kTwoCpus ? Json{"cpu", "cpu"} : Json{"cpu + cpu", "cpu + cpu"}));
  }
}

TEST_CASE("single_gpu and basic on one device are the same training and save every second epoch and at the end") {
  const Workspace w;
  const Outcome single = train(w, "single_gpu", {"device_pool=[\"cpu\"]", "checkpoint.keep_last=99"});
  CHECK(contains(single.run.log(0), "[CPU0] Epoch 0 | Batchsize: 32 | Steps: 64\n"));
  CHECK(single.run.summary().at("backend") == "none");
  CHECK(contains(single.run.log(0), "Epoch 8 | Training checkpoint saved at"));
  CHECK(saved_epochs(single.run) == std::vector{0, 2, 4, 6, 8, 9});
  const Outcome ddp = train(w, "basic", {"device_pool=[\"cpu\"]", "checkpoint.keep_last=99"});
  check_same(ddp.run, single.run);
}

TEST_CASE("basic trains on as many devices as device_pool has and rank 0 alone saves") {
  const Workspace w;
  const Outcome run =
      train(w, "basic", {"device_pool=[\"cpu\", \"cpu\", \"cpu\", \"cpu\"]", "checkpoint.keep_last=99"});
  CHECK(run.run.has_each_step_once(160));
  CHECK(saved_epochs(run.run) == std::vector{0, 2, 4, 6, 8, 9});
  for (int rank = 0; rank < 4; ++rank) {
    const std::string log = run.run.log(rank);
    for (int epoch = 0; epoch < 10; ++epoch) {
      CHECK(contains(
          log, "[CPU" + std::to_string(rank) + "] Epoch " + std::to_string(epoch) + " | Batchsize: 32 | Steps: 16\n"));
    }
    CHECK(contains(log, "Training checkpoint saved at") == (rank == 0));
  }
}

TEST_CASE("hpc passes once over a million samples in batches of 1024 with Adam") {
  const Workspace w;
  const Outcome run = train(w, "hpc", {"device_pool=[\"cpu\", \"cpu\", \"cpu\", \"cpu\"]"});
  CHECK(run.run.summary().at("devices") == Json{"cpu + cpu", "cpu + cpu"});
  CHECK(run.run.has_each_step_once(512));
  for (const auto& line : run.run.events("step")) {
    CHECK(line.at("samples") == 2048);
    CHECK(line.at("lr") == 1e-4);
  }
}

TEST_CASE("the million samples of counting take less than 200 MB of a rank") {
  const Workspace w;
  const std::int64_t of_few = peak_of_counting(w, 4096);
  const std::int64_t of_all = peak_of_counting(w, 1 << 20);
  WARN("peak memory of a rank: " << of_all << " KiB, " << of_all - of_few << " KiB of it for the samples");
  REQUIRE(of_few > 0);
  CHECK(of_all - of_few < 200'000'000 / 1024);
}

TEST_CASE("data_parallel and ddp and a single device train on the same batches to the same losses") {
  const Workspace w;
  const Outcome split = train(w, "data_parallel");
  CHECK(split.run.summary().at("world_size") == 1);
  CHECK(split.run.summary().at("devices") == Json{"cpu + cpu"});
  const Outcome ddp = train(w, "data_parallel", {kTwoCpus, "parallel=ddp", "batch_size=32"});
  CHECK(ddp.run.summary().at("world_size") == 2);
  const Outcome single = train(w, "data_parallel", {"device_pool=[\"cpu\"]", "parallel=single"});
  for (const Outcome* other : {&ddp, &single}) {
    const auto expected = split.run.events("step");
    const auto steps = other->run.events("step");
    REQUIRE(steps.size() == expected.size());
    for (std::size_t i = 0; i < steps.size(); ++i) {
      CHECK(steps[i].at("samples") == 64);
      CHECK(std::abs(steps[i].at("loss").get<double>() - expected[i].at("loss").get<double>()) < 1e-6);
    }
  }
}

TEST_CASE("data_parallel resumes with another number of devices") {
  const Workspace w;
  const Outcome half = train(w, "data_parallel", {kTwoCpus, "epochs=2"});
  const Outcome rest = w.done({"resume", half.run.path(), "--set", "device_pool=3", "--set", "epochs=4"});
  CHECK(rest.run.summary().at("devices").size() == 1);
  CHECK(rest.run.has_each_step_once(4 * 32));
}

TEST_CASE("multiprocessing_distributed divides its global batch over the ranks and resumes with model and optimizer") {
  if (!fs::exists(digits_data())) {
    WARN("skipped: " << digits_data() << " is not there");
    return;
  }
  const Workspace w;
  const Outcome whole = train(w, "multiprocessing_distributed");
  CHECK(contains(whole.run.log(1), "[CPU1] Epoch 0 | Batchsize: 32 |"));
  CHECK(whole.run.events("step")[0].at("samples") == 64);
  CHECK(whole.run.summary().at("final").at("val_accuracy") >= 0.95);
  const Outcome half = train(w, "multiprocessing_distributed", {kTwoCpus, "epochs=10"});
  const Outcome rest = w.done({"resume", half.run.path(), "--set", "epochs=20"});
  CHECK(rest.run.model() == whole.run.model());
  w.refused(
      {"run", kExperiments / "multiprocessing_distributed.toml", "--set", "device_pool=[\"cpu\", \"cpu\", \"cpu\"]"},
      {"global_batch_size = 63 or 66"});
}

TEST_CASE("cross-entropy over one class trains as written and warns that its loss is always 0") {
  const Workspace w("one_class.toml",
                    "model = \"linear\"\ndataset = \"random_pairs\"\nloss = \"cross_entropy\"\ndevice_pool = [\"cpu\", "
                    "\"cpu\"]\n");
  const Outcome run = w.done({"run", "one_class.toml"}, {"warning: cross_entropy over one class is always 0"});
  CHECK(run.run.has_each_step_once(32));
  for (const auto& line : run.run.events("step")) CHECK(line.at("loss") == 0.0);
}

TEST_CASE("every shipped experiment is valid or names the place of its missing data") {
  const Workspace w;
  const std::set<std::string> brought{"glyphs.toml",           "glyphs_resnet.toml",     "mnist.toml",
                                      "cifar10_resnet18.toml", "imagenet_resnet50.toml", "shakespeare_char.toml"};
  for (const auto& entry : fs::directory_iterator(kExperiments)) {
    if (entry.path().extension() != ".toml") continue;
    INFO(entry.path());
    const Outcome validated = w.run({"validate", entry.path()});
    if (brought.count(entry.path().filename()) == 0) {
      CHECK(validated.code == 0);
    } else if (validated.code != 0) {
      INFO(validated.err);
      CHECK(validated.code == 2);
      CHECK(contains(validated.err, "there is no such file: " + (fs::path(DDP_SOURCE) / "data").string()));
    }
  }
}

}  // namespace ddp::system_test
