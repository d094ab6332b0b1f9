#include "catch.h"
#include "tables.h"

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
void check_refused(const Workspace& w, const Words& words, const std::string& said) {
  w.refused(words, {said});
  CHECK_FALSE(fs::exists(w.results()));
}

}  // namespace

TEST_CASE("a mistake in a file ends with exit 2 before anything is started") {
  const Workspace w;
  for (const auto& [what, file, said] : std::vector<Mistake>{
           {"unknown key", kPair + "batchsize = 3\n", "did you mean \"batch_size\""},
           {"no TOML", kPair + "epochs = [1\n", "x.toml:"},
           {"no model", "dataset = \"random_pairs\"\n", "\"model\" is missing"},
           {"a GPU that is not there", "model = \"linear\"\ndataset = \"random_pairs\"\ndevice_pool = [0]\n",
            "device_pool"},
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
    w.done({"validate", "x.toml"});
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
  const Workspace w("digits.csv", digits_csv(20));  // zlib reads uncompressed data unchanged
  w.write("x.toml",
          "model = { name = \"linear\", in_features = 64, out_features = 10 }\nloss = \"mse\"\n"
          "dataset = { name = \"digits\", path = \"digits.csv\" }\n");
  check_refused(w, {"run", "x.toml"}, "cross_entropy");
}

}  // namespace ddp::system_test
