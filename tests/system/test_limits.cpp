#include <algorithm>

#include "catch.h"
#include "workspace.h"

namespace ddp::system_test {
namespace fs = std::filesystem;
namespace {

const std::string kLimitedPair = "model = \"linear\"\ndataset = \"random_pairs\"\ndevice_pool = [\"cpu\", \"cpu\"]\n";

// The files of a folder without those with the program's stdout and stderr.
Words files_in(const Workspace& w) {
  Words files;
  for (const auto& entry : fs::recursive_directory_iterator(w.folder())) {
    const std::string name = entry.path().filename();
    if (!name.starts_with(".out-") && !name.starts_with(".err-")) files.push_back(entry.path());
  }
  std::sort(files.begin(), files.end());
  return files;
}

// Requires exit 2, these words on stderr, nothing on stdout, nothing left and nothing written.
std::string check_limit_refused(const Workspace& w, const Words& arguments, const std::string& said,
                                const Environment& environment = {}) {
  const auto before = files_in(w);
  const Outcome run = w.refused(arguments, {said}, environment);
  CHECK(files_in(w) == before);
  return run.err;
}

}  // namespace

TEST_CASE("numbers beyond all limits are refused by plan and by run") {
  const Workspace w("x.toml", kLimitedPair);
  for (const std::string setting :
       {"accumulate=9223372036854775807", "epochs=9223372036854775807", "steps=9223372036854775807",
        "batch_size=9223372036854775807", "global_batch_size=9223372036854775807", "device_pool=4611686018427387904",
        "device_pool=9223372036854775807", "devices_per_rank=9223372036854775807", "distributed.timeout=1e300",
        "distributed.bucket_cap_mb=1e300"}) {
    for (const char* command : {"plan", "run"}) {
      INFO(command << " " << setting);
      check_limit_refused(w, {command, "x.toml", "--set", setting}, setting.substr(0, setting.find('=')));
    }
  }
}

TEST_CASE("a split that cannot hold anything out is refused") {
  const Workspace w("x.toml",
                    "model = { name = \"linear\", in_features = 10, out_features = 5 }\ndataset = \"random_batch\"\n"
                    "device_pool = [\"cpu\", \"cpu\"]\nsteps = 3\n");
  check_limit_refused(w, {"run", "x.toml", "--set", "validation.split=0.2"}, "validation");
  w.write("x.toml", kLimitedPair);
  check_limit_refused(w, {"run", "x.toml", "--set", "validation.split=1e-4"}, "validation");
}

TEST_CASE("contradictory launch flags are refused") {
  const Workspace w("x.toml", kLimitedPair);
  for (const auto& [flags, said] : std::vector<std::pair<std::string, std::string>>{
           {"--nnodes 2 --node-rank 2 --master-addr 127.0.0.1", "--node-rank"},
           {"--nnodes 2 --master-addr 127.0.0.1", "--node-rank"},
           {"--nnodes 2 --node-rank 0", "--master-addr"},
           {"--nnodes 2 --node-rank 0 --set distributed.init_method=file:///no-folder/meet", "no folder /no-folder"},
           {"--nproc-per-node 3", "--nproc-per-node"},
           {"--rdzv-endpoint here", "--rdzv-endpoint: \"here\""},
           {"--rdzv-endpoint h:99999", "\"h:99999\""},
           {"--rdzv-endpoint h:2 --master-addr g", "name different places"},
           {"--rdzv-endpoint h:2 --master-port 3", "name different places"},
           {"--master-addr 127.0.0.1:29500", "127.0.0.1:29500: "},
           {"--node-rank 1", "--nnodes"},
           {"--standalone --nnodes 2", "--standalone: "},
           {"--nnodes 1:4", "--nnodes 4"},
           {"--nproc-per-node gpu", "device_pool = \"auto\""},
           {"--rdzv-backend etcd", "--rdzv-endpoint"},
           {"--set distributed.init_method=udp://1", "init_method"}}) {
    check_limit_refused(w, words_of("run x.toml " + flags), said);
  }
}

TEST_CASE("torchrun's spellings of the launch flags are accepted") {
  const Workspace w("x.toml", kLimitedPair);
  for (const std::string flags : {"--nnodes 1:1", "--rdzv-backend c10d --rdzv-id 7 --nproc-per-node 2",
                                  "--rdzv-endpoint 127.0.0.1:29400 --master-addr 127.0.0.1 --master-port 29400"}) {
    w.done(words_of("run x.toml --dry-run " + flags));
  }
}

TEST_CASE("a place where nodes meet, without several nodes, gets a warning", "[slow]") {
  const Workspace w("x.toml", kLimitedPair);
  const std::string plan = "run x.toml --dry-run ";
  const auto said = [&](const std::string& line) { return w.done(words_of(line)).err; };
  for (const std::string flags :
       {"--master-addr 127.0.0.1 --master-port 29753", "--rdzv-endpoint 127.0.0.1:29555", "--master-port 29555"}) {
    const std::string warning =
        "warning: " + words_of(flags).front() + ": says where nodes meet, and without --nnodes this command";
    CHECK(contains(said(plan + flags), warning));
    CHECK(contains(said("plan x.toml " + flags), warning));
    for (const std::string alone : {" --nnodes 1", " --standalone"}) {
      CHECK_FALSE(contains(said(plan + flags + alone), "warning: "));
    }
  }
  CHECK(contains(said("comm --sizes 4 --op reduce --master-addr 127.0.0.1"), "--master-addr: says where nodes meet"));
  const std::string method = plan + "--set distributed.init_method=tcp://127.0.0.1:29500 ";
  CHECK(contains(said(method), "\"distributed.init_method\" has no effect: the ranks of one node meet in"));
  CHECK_FALSE(contains(said(method + "--set distributed.backend=gloo"), "warning: "));
  CHECK_FALSE(contains(said(method + "--nnodes 2 --node-rank 0"), "warning: "));
}

TEST_CASE("launch flags do not make each process of torchrun or srun train a copy of its own") {
  const Workspace w("x.toml", kLimitedPair);
  const Environment torchrun = {{"RANK", "0"}, {"WORLD_SIZE", "2"}, {"TORCHELASTIC_RUN_ID", "none"}};
  const Environment srun = {
      {"SLURM_STEP_ID", "0"},        {"SLURM_STEP_NUM_TASKS", "2"}, {"SLURM_STEP_TASKS_PER_NODE", "2"},
      {"SLURM_STEP_NODELIST", "n1"}, {"SLURM_PROCID", "1"},         {"SLURM_LOCALID", "1"},
      {"SLURM_NODEID", "0"}};
  for (const Words& flag :
       std::vector<Words>{{"--nproc-per-node", "2"}, {"--nnodes", "1"}, {"--master-addr", "127.0.0.1"}}) {
    const Words words = {"run", "x.toml", flag[0], flag[1]};
    const std::string remedy = "--standalone";
    const std::string said = check_limit_refused(w, words, "torchrun started this process as rank 0 of 2", torchrun);
    CHECK(contains(said, remedy));
    CHECK(contains(check_limit_refused(w, words, "srun started this process as task 1 of 2", srun), remedy));
  }
  w.done({"run", "x.toml", "--dry-run", "--standalone"}, {}, torchrun);
  const Words nodes = {"run", "x.toml", "--dry-run", "--nnodes", "2", "--node-rank", "1", "--master-addr", "n1"};
  w.done(nodes, {}, srun);
  Environment further = srun;
  further["SLURM_STEP_NUM_TASKS"] = "4";
  const std::string leave_out = "leave out the launch flags";
  CHECK(contains(check_limit_refused(w, nodes, "srun started this process as task 1 of 4", further), leave_out));
  CHECK(contains(check_limit_refused(w, nodes, "torchrun started this process as rank 0 of 2", torchrun), leave_out));
}

TEST_CASE("launch flags of several nodes are refused on ranks by hand, unless RANK numbers the nodes") {
  const Workspace w("x.toml", kLimitedPair);
  const auto node = [](const char* number) {
    return Words{"run", "x.toml", "--dry-run", "--nnodes", "2", "--node-rank", number, "--master-addr", "n1"};
  };
  const Environment machine = {{"RANK", "1"}, {"WORLD_SIZE", "2"}, {"MASTER_ADDR", "n1"}, {"MASTER_PORT", "29500"}};
  w.done(node("1"), {}, machine);
  const std::string remedy = "leave out the launch flags";
  const std::string place = "RANK and WORLD_SIZE make this process rank 1 of ";
  CHECK(contains(check_limit_refused(w, node("0"), place + "2", machine), remedy));
  for (const auto& [name, value] : Environment{{"WORLD_SIZE", "4"}, {"LOCAL_WORLD_SIZE", "2"}}) {
    Environment ranks = machine;
    ranks[name] = value;
    CHECK(contains(check_limit_refused(w, node("1"), place + ranks["WORLD_SIZE"], ranks), remedy));
  }
}

TEST_CASE("training on CPUs in a job with GPUs, and settings that a launcher overrides, are told") {
  const Workspace w("x.toml", kLimitedPair);
  const Words planned = {"run", "x.toml", "--dry-run", "--set"};
  const auto said = [&](const std::string& pool, const Environment& environment, const Words& more = {}) {
    Words words = planned;
    words.push_back("device_pool=" + pool);
    words.insert(words.end(), more.begin(), more.end());
    return w.run(words, environment).err;
  };
  const Environment job = {{"SLURM_GPUS_ON_NODE", "4"}, {"CUDA_VISIBLE_DEVICES", ""}};
  CHECK(contains(said("2", job), "Slurm gave this job GPUs, but none is visible"));
  CHECK(said("[\"cpu\", \"cpu\"]", job).empty());
  CHECK(contains(said("2", {{"WORLD_SIZE", "2"}}), "WORLD_SIZE is 2, and RANK is not set: this process trains alone"));
  CHECK(contains(said("2", {{"RANK", "1"}}), "RANK is 1, and WORLD_SIZE is not set: this process trains alone"));
  CHECK(said("2", {{"SLURM_GPUS_ON_NODE", "0"}, {"CUDA_VISIBLE_DEVICES", ""}}).empty());
  Environment torchrun = {{"RANK", "0"},           {"WORLD_SIZE", "2"},
                          {"LOCAL_RANK", "0"},     {"LOCAL_WORLD_SIZE", "2"},
                          {"MASTER_ADDR", "host"}, {"CUDA_VISIBLE_DEVICES", ""}};
  const Words restarts = {"--max-restarts", "2"};
  const std::string warned = said("4", torchrun, restarts);
  CHECK(contains(warned, "the launcher starts here only 2"));
  CHECK(contains(warned, "--max-restarts has no effect on ranks that a launcher started"));
}

TEST_CASE("a sweep is one process, and has Slurm's options only as a job array") {
  const Workspace w("x.toml",
                    std::string(kLimitedPair) + "[sweep]\nmethod = \"grid\"\nparameters.batch_size = [2, 4]\n");
  const std::string said =
      check_limit_refused(w, {"sweep", "x.toml"}, "sweep: is one process, but", {{"RANK", "1"}, {"WORLD_SIZE", "4"}});
  CHECK(contains(said, "use srun -n 1, or --array"));
  for (const char* option : {"--partition", "--time", "--output"}) {
    check_limit_refused(w, {"sweep", "x.toml", option, "5"}, option + std::string(" requires --array"));
  }
  check_limit_refused(w, {"sweep", "x.toml", "--no-exclusive"}, "--exclusive requires --array");
}

TEST_CASE("a layer that PyTorch refuses is reported at its place without a backtrace") {
  const Workspace w(
      "x.toml",
      "dataset = \"random_pairs\"\ndevice_pool = [\"cpu\", \"cpu\"]\n[model]\nname = \"sequential\"\n"
      "layers = [{ type = \"Conv2d\", in_channels = 3, out_channels = 4, kernel_size = 3, groups = 2 }]\n");
  for (const char* command : {"plan", "run"}) {
    const std::string said = check_limit_refused(w, {command, "x.toml"}, "error: x.toml:5:");
    INFO(said);
    CHECK(contains(said.substr(0, said.find('\n')), "must be divisible by groups"));
    // The other lines are the line of the file and a mark below it.
    CHECK(std::count(said.begin(), said.end(), '\n') <= 3);
    CHECK_FALSE(contains(said, "Exception"));
  }
}

TEST_CASE("the version goes to stdout and exits with 0") {
  const Workspace w;
  const Outcome version = w.done({"--version"});
  CHECK(version.err.empty());
  CHECK(contains(version.out, "ddp-exp "));
  CHECK(version.out.find_first_of("0123456789") != std::string::npos);
  CHECK(std::count(version.out.begin(), version.out.end(), '\n') == 1);
}

}  // namespace ddp::system_test
