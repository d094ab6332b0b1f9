#include "catch.h"
#include "workspace.h"

namespace ddp::system_test {
namespace fs = std::filesystem;
namespace {

const std::string kPair = "model = \"linear\"\ndataset = \"random_pairs\"\ndevice_pool = [\"cpu\", \"cpu\"]\n";

const std::string kHalves = "model = \"toy_mp\"\ndataset = \"random_batch\"\nsteps = 1\n";

struct Mistake {
  std::string what;
  std::string file;  // the text of the experiment
  std::string said;  // the message on stderr
};

// Requires exit 2, this text on stderr, nothing on stdout, nothing started and nothing written.
void check_refused(const Workspace& w, const std::vector<std::string>& arguments, const std::string& said) {
  const Outcome run = w.run(arguments);
  INFO(run.err);
  CHECK(run.code == 2);
  CHECK(contains(run.err, said));
  CHECK(run.out.empty());
  CHECK_FALSE(run.left);
  CHECK_FALSE(fs::exists(w.results()));
}

}  // namespace

TEST_CASE("a mistake in a file ends with exit 2 before anything is started") {
  const Workspace w;
  for (const auto& [what, file, said] : std::vector<Mistake>{
           {"unknown key", kPair + "batchsize = 3\n", "did you mean \"batch_size\""},
           {"wrong type", kPair + "batch_size = \"many\"\n", "x.toml:4:14"},
           {"bool for integer", kPair + "epochs = true\n", "epochs"},
           {"no TOML", kPair + "epochs = [1\n", "x.toml:"},
           {"no model", "dataset = \"random_pairs\"\n", "\"model\" is missing"},
           {"a GPU that is not there", "model = \"linear\"\ndataset = \"random_pairs\"\ndevice_pool = [0]\n",
            "device_pool"},
           {"too many GPUs", kHalves + "device_pool = [[0, 1], [2, 3]]\n", "needs 4 devices, this machine has 0"},
           {"too many GPUs in groups of two", kHalves + "device_pool = [0, 1, 2, 3]\ndevices_per_rank = 2\n",
            "needs 4 devices, this machine has 0"},
           {"an odd pool for groups of two",
            kHalves + "device_pool = [\"cpu\", \"cpu\", \"cpu\"]\ndevices_per_rank = 2\n",
            "3 devices cannot be divided into groups of 2"},
           {"groups of another size", kHalves + "device_pool = [[\"cpu\", \"cpu\"]]\ndevices_per_rank = 3\n",
            "device_pool has groups of 2, devices_per_rank says 3"},
           {"a GPU named twice", kHalves + "device_pool = [[0, 1], [1, 2]]\n", "GPU 1 is named twice"},
           {"a model that is not spread over devices",
            "model = \"linear\"\ndataset = \"random_pairs\"\ndevice_pool = [[\"cpu\", \"cpu\"]]\n",
            "model \"linear\" uses one device, device_pool gives each rank 2"},
           {"nccl between CPUs", kPair + "backend = \"nccl\"\n", "nccl"},
           {"indivisible global batch", kPair + "global_batch_size = 7\n", "global_batch_size = 6 or 8"},
       }) {
    INFO(what);
    w.write("x.toml", file);
    check_refused(w, {"run", "x.toml"}, said);
  }
}

TEST_CASE("validate refuses an experiment that no machine can start as run does") {
  const Workspace w;
  for (const auto& [what, file, said] : std::vector<Mistake>{
           {"indivisible global batch", kPair + "global_batch_size = 33\n",
            "x.toml:4:21: 33 samples cannot be divided over 2 ranks\n"},
           {"indivisible over micro-batches", kPair + "global_batch_size = 34\naccumulate = 2\n",
            "over 2 ranks x 2 micro-batches"},
           {"indivisible over a number of ranks",
            "model = \"linear\"\ndataset = \"random_pairs\"\ndevice_pool = 3\nglobal_batch_size = 64\n",
            "global_batch_size = 63 or 66"},
           {"an odd pool for groups of two",
            kHalves + "device_pool = [\"cpu\", \"cpu\", \"cpu\"]\ndevices_per_rank = 2\n",
            "3 devices cannot be divided into groups of 2"},
           {"a model that is not spread over devices",
            "model = \"linear\"\ndataset = \"random_pairs\"\ndevice_pool = [[\"cpu\", \"cpu\"]]\n",
            "model \"linear\" uses one device, device_pool gives each rank 2"},
           {"nccl between CPUs", kPair + "distributed = { backend = \"nccl\" }\n", "nccl carries tensors between GPUs"},
       }) {
    INFO(what);
    w.write("x.toml", file);
    check_refused(w, {"validate", "x.toml"}, said);
    check_refused(w, {"run", "x.toml"}, said);
  }
  w.write("x.toml", kPair + "[sweep.parameters]\nglobal_batch_size = [32, 33]\n");
  check_refused(w, {"validate", "x.toml"}, "33 samples cannot be divided over 2 ranks\n");
}

TEST_CASE("validate accepts devices that another machine may have") {
  const Workspace w;
  const std::string model = "model = \"linear\"\ndataset = \"random_pairs\"\n";
  for (const char* devices : {"device_pool = [0, 1]\nglobal_batch_size = 64\n", "global_batch_size = 33\n",
                              "device_pool = 2\ndistributed = { backend = \"nccl\" }\n", "device_pool = [1000000000]\n",
                              "device_pool = 3\ndevices_per_rank = 1\nglobal_batch_size = 33\n"}) {
    w.write("x.toml", model + devices);
    const Outcome valid = w.run({"validate", "x.toml"});
    INFO(devices << valid.err);
    CHECK(valid.code == 0);
  }
  w.write("x.toml", model + "device_pool = [0, 1]\nglobal_batch_size = 33\n");
  check_refused(w, {"validate", "x.toml"}, "33 samples cannot be divided over 2 ranks\n");
}

TEST_CASE("a mistake that only tensors reveal ends with exit 2 before any run directory exists") {
  const Workspace w;
  const std::string digits = DDP_SOURCE "/no-digits-here.csv.gz";
  for (const auto& [what, file, said] : std::vector<Mistake>{
           {"the model does not fit the data",
            "model = { name = \"linear\", in_features = 3 }\ndataset = \"random_pairs\"\n", "of shape [20]"},
           {"outputs do not fit the targets",
            "model = { name = \"linear\", out_features = 3 }\ndataset = \"random_pairs\"\n", "[2, 3]"},
           {"drop_last drops all",
            "model = \"linear\"\ndataset = { name = \"random_pairs\", size = 1 }\nloader = { drop_last = "
            "true }\n"
            "device_pool = [\"cpu\", \"cpu\"]\n",
            "drops everything: 1 samples for 2 ranks"},
           {"drop_last_batch drops all",
            "model = \"linear\"\ndataset = { name = \"random_pairs\", size = 9 }\nbatch_size = 6\n"
            "loader = { drop_last_batch = true }\ndevice_pool = [\"cpu\", \"cpu\"]\n",
            "drops everything: a rank has 5 samples, and a batch takes 6"},
           {"the data is not there", "model = \"linear\"\ndataset = { name = \"digits\", path = \"" + digits + "\" }\n",
            "no-digits-here.csv.gz"},
           {"a layer of a list does not fit the one before it",
            "dataset = \"random_pairs\"\n[model]\nname = \"sequential\"\nlayers = [{ type = \"Linear\", in_features = "
            "20, "
            "out_features = 8 }, { type = \"Linear\", in_features = 9, out_features = 1 }]\n",
            "layer 1, Linear, does not accept shape [2, 8]"},
       }) {
    INFO(what);
    w.write("x.toml", file);
    check_refused(w, {"run", "x.toml"}, said);
  }
}

TEST_CASE("mse against classes ends with exit 2 and names cross_entropy") {
  const Workspace w;
  std::string rows;
  for (int row = 0; row < 20; ++row) {
    for (int pixel = 0; pixel < 64; ++pixel) rows += std::to_string((row + pixel) % 17) + ",";
    rows += std::to_string(row % 10) + "\n";
  }
  // zlib reads uncompressed data unchanged.
  w.write("digits.csv", rows);
  w.write("x.toml",
          "model = { name = \"linear\", in_features = 64, out_features = 10 }\nloss = \"mse\"\n"
          "dataset = { name = \"digits\", path = \"digits.csv\" }\n");
  check_refused(w, {"run", "x.toml"}, "cross_entropy");
}

TEST_CASE("a wrong command line ends with exit 2") {
  const Workspace w;
  w.write("x.toml", kPair);
  check_refused(w, {"run", "gone.toml"}, "gone.toml");
  check_refused(w, {"run", "."}, ".");
  check_refused(w, {"run"}, "FILE");
  check_refused(w, {"run", "x.toml", "--sett", "a=1"}, "--sett");
  check_refused(w, {"run", "x.toml", "--set"}, "--set");
  check_refused(w, {"run", "x.toml", "--set", "epochs"}, "epochs");
  check_refused(w, {"run", "x.toml", "--run-id", "../up"}, "../up");
  check_refused(w, {"run", "x.toml", "--run-id", "latest"}, "latest");
  check_refused(w, {"run", "x.toml", "--init-from", "gone"}, "gone");
  check_refused(w, {"run", "x.toml", "--name", "../up"}, "name");
  check_refused(w, {"run", "x.toml", "--results", "x.toml"}, "x.toml");
  check_refused(w, {"resume", "gone"}, "gone");
  check_refused(w, {"resume", "latest"}, "no runs yet");
  check_refused(w, {"resume"}, "RUN");
  check_refused(w, {"resmue", "x"}, "did you mean \"resume\"");
  check_refused(w, {}, "the command is missing");
}

TEST_CASE("help goes to stdout and exits with 0") {
  const Workspace w;
  using Arguments = std::vector<std::string>;
  for (const auto& arguments : {Arguments{"--help"}, Arguments{"run", "--help"}, Arguments{"resume", "--help"}}) {
    const Outcome help = w.run(arguments);
    CHECK(help.code == 0);
    CHECK(contains(help.out, "--help"));
    CHECK(help.err.empty());
  }
  CHECK(contains(w.run({"--help"}).out, "resume"));
}

}  // namespace ddp::system_test
