#include <filesystem>
#include <sstream>

#include "arrays.h"
#include "catch.h"
#include "struck.h"

namespace ddp::system_test {
namespace fs = std::filesystem;
namespace {

// The peak memory of a process in bytes, with the memory pages of the files that it maps.
std::int64_t peak_of(pid_t process) {
  std::istringstream lines(text_of("/proc/" + std::to_string(process) + "/status"));
  for (std::string word; lines >> word;) {
    std::int64_t kilobytes = 0;
    if (word == "VmHWM:" && lines >> kilobytes) return kilobytes << 10;
  }
  return 0;
}

}  // namespace

TEST_CASE("a run on arrays of any format that is killed inside an epoch and resumed has the same bits", "[slow]") {
  for (const std::string format : {"npy", "npz", "safetensors"}) {
    INFO(format);
    const ArrayWorkspace w(format);
    kill_and_resume(w, "arrays");
  }
}

TEST_CASE("targets of class ignore_index do not count and are not classes of the model, with arrays of any format",
          "[slow]") {
  for (const std::string format : {"npy", "npz", "safetensors"}) {
    for (const std::int64_t ignored : {255, -1}) {
      INFO(format << ", " << ignored);
      ArrayData data(100);
      for (std::size_t row = 0; row < data.y.size(); row += 3) data.y[row] = ignored;
      const ArrayWorkspace w(format, data);
      const std::string loss = "loss={name=\"cross_entropy\", ignore_index=" + std::to_string(ignored) + "}";
      const Words sets{"--set", loss, "--set", "model={name=\"mlp\", in_features=4, hidden=[8]}"};
      const Words plan = joined({"plan", "arrays.toml", "--json"}, sets);
      const Outcome planned = w.done(plan);
      CHECK(Json::parse(planned.out).at("sizes").at("out_features") == 3);
      CHECK(Json::parse(planned.out).at("data").at("classes").at("count") == 3);
      const Words run = joined({"run", "arrays.toml", "--set", "validation.split=0.2"}, sets);
      const Outcome trained = w.done(run);
      CHECK(trained.run.events("epoch").back().at("val_accuracy").is_number());
    }
  }
}

TEST_CASE("a negative target is refused, and the remedy shows how to ignore it") {
  ArrayData data(100);
  data.y[7] = -1;
  const ArrayWorkspace w("npy", data);
  w.refused({"plan", "arrays.toml"}, {"row 7 has class -1", "ignore_index = -1"});
}

TEST_CASE("an array of 4 GB trains in ranks that hold only their batches in memory") {
  const Workspace w;
  constexpr std::int64_t kRows = 1 << 16;
  // A hole in the file takes no disk space: all of it reads as zeros.
  w.write("x.npy", npy_file(npy_dict("|u1", "(65536, 65536)"), ""));
  fs::resize_file(w.folder() / "x.npy", fs::file_size(w.folder() / "x.npy") + (std::uintmax_t{kRows} << 16));
  w.write("y.npy", npy_of("<i8", "(65536,)", std::vector<std::int64_t>(kRows, 1)));
  w.write("large.toml",
          "dataset = { name = \"npy\", inputs = \"x.npy\", targets = \"y.npy\", scale = 0.5 }\n"
          "loss = \"cross_entropy\"\nmodel = { name = \"mlp\", in_features = 65536, hidden = [2], out_features = 2 }\n"
          "device_pool = [\"cpu\", \"cpu\"]\nbatch_size = 2\nthreads = 1\nsteps = 1000000\n");
  const auto process = w.start({"run", "large.toml"});
  w.running(*process, "large", 20);
  REQUIRE(process->wait_for_ranks(2));
  for (const pid_t rank : process->ranks()) {
    const std::int64_t peak = peak_of(rank);
    WARN("a rank that trains on 4 GB: at most " << (peak >> 20) << " MB");
    CHECK(peak > 0);
    CHECK(peak < std::int64_t{1} << 28);
  }
  w.stop(*process);
}

}  // namespace ddp::system_test
