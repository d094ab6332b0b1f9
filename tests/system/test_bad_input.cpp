#include "catch.h"
#include "tables.h"

namespace ddp::system_test {
namespace fs = std::filesystem;
namespace {

const std::string kLinear = "model = \"linear\"\ndataset = \"random_pairs\"\n";
const std::string kPair = kLinear + "device_pool = [\"cpu\", \"cpu\"]\n";

// Requires that each of these commands ends with exit 2, names these parts, and starts and writes nothing.
void check_refused(const Workspace& w, const std::string& file, const Words& said, const Words& verbs = {"run"}) {
  w.write("x.toml", file);
  for (const std::string& verb : verbs) {
    w.refused({verb, "x.toml"}, said);
    CHECK_FALSE(fs::exists(w.results()));
  }
}

}  // namespace

TEST_CASE("validate refuses an experiment that no machine can start as run does") {
  const Workspace w;
  for (const auto& [file, said] : std::vector<std::pair<std::string, Words>>{
           {kPair + "global_batch_size = 33\n", {"x.toml:4:21: ", "33 samples", "2 ranks\n"}},
           {kPair + "global_batch_size = 34\naccumulate = 2\n", {"2 ranks x 2 micro-batches"}},
           {kLinear + "device_pool = 3\nglobal_batch_size = 64\n", {"global_batch_size = 63 or 66"}},
           {"model = \"toy_mp\"\ndataset = \"random_batch\"\nsteps = 1\n"
            "device_pool = [\"cpu\", \"cpu\", \"cpu\"]\ndevices_per_rank = 2\n",
            {"3 devices", "groups of 2"}},
           {kLinear + "device_pool = [[\"cpu\", \"cpu\"]]\n", {"\"linear\"", "device_pool gives each rank 2"}},
           {kPair + "distributed = { backend = \"nccl\" }\n", {"nccl", "GPUs"}}}) {
    check_refused(w, file, said, {"validate", "run"});
  }
  check_refused(w, kPair + "[sweep.parameters]\nglobal_batch_size = [32, 33]\n", {"33 samples"}, {"validate"});
  check_refused(w, kLinear + "device_pool = [0, 1]\nglobal_batch_size = 33\n", {"33 samples"}, {"validate"});
}

TEST_CASE("validate accepts devices that another machine may have") {
  const Workspace w;
  for (const char* devices : {"device_pool = [0, 1]\nglobal_batch_size = 64\n", "global_batch_size = 33\n",
                              "device_pool = 2\ndistributed = { backend = \"nccl\" }\n", "device_pool = [1000000000]\n",
                              "device_pool = 3\ndevices_per_rank = 1\nglobal_batch_size = 33\n"}) {
    w.write("x.toml", kLinear + devices);
    w.done({"validate", "x.toml"});
  }
  check_refused(w, kLinear + "device_pool = [1000000000]\n", {"device_pool"});
}

TEST_CASE("a mistake that only tensors reveal ends with exit 2 before any run directory exists") {
  const Workspace w("digits.csv", digits_csv(20));  // zlib reads uncompressed data unchanged
  const std::string digits = "dataset = { name = \"digits\", path = \"digits.csv\" }\n";
  for (const auto& [file, said] : std::vector<std::pair<std::string, Words>>{
           {"model = { name = \"linear\", in_features = 3 }\ndataset = \"random_pairs\"\n", {"of shape [20]"}},
           {"model = { name = \"linear\", out_features = 3 }\ndataset = \"random_pairs\"\n", {"[2, 3]"}},
           {"model = \"linear\"\ndataset = { name = \"random_pairs\", size = 1 }\nloader = { drop_last = true }\n"
            "device_pool = [\"cpu\", \"cpu\"]\n",
            {"1 samples for 2 ranks"}},
           {"model = \"linear\"\ndataset = { name = \"random_pairs\", size = 9 }\nbatch_size = 6\n"
            "loader = { drop_last_batch = true }\ndevice_pool = [\"cpu\", \"cpu\"]\n",
            {"5 samples", "a batch takes 6"}},
           {"model = \"linear\"\ndataset = { name = \"digits\", path = \"no-digits.csv.gz\" }\n", {"no-digits.csv.gz"}},
           {"dataset = \"random_pairs\"\n[model]\nname = \"sequential\"\nlayers = [{ type = \"Linear\", in_features = "
            "20, out_features = 8 }, { type = \"Linear\", in_features = 9, out_features = 1 }]\n",
            {"layer 1, Linear", "[2, 8]"}},
           {"model = { name = \"linear\", in_features = 64, out_features = 10 }\nloss = \"mse\"\n" + digits,
            {"cross_entropy"}}}) {
    check_refused(w, file, said);
  }
}

}  // namespace ddp::system_test
