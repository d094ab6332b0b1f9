#include <cstring>

#include "catch.h"
#include "workspace.h"

namespace ddp::system_test {
namespace fs = std::filesystem;
namespace {

// Of a safetensors file, the tensors alone.
std::int64_t data_bytes(const fs::path& file) {
  const std::string text = text_of(file);
  std::uint64_t header = 0;
  REQUIRE(text.size() > sizeof header);
  std::memcpy(&header, text.data(), sizeof header);
  return static_cast<std::int64_t>(text.size() - sizeof header - header);
}

}  // namespace

TEST_CASE("plan tells how much memory saving takes, and that is what is saved") {
  const Workspace w;
  w.write("small.toml", kSmall);
  const Outcome plan = w.run({"plan", "small.toml", "--json"});
  INFO(plan.err);
  REQUIRE(plan.code == 0);
  const Outcome run = w.run({"run", "small.toml"});
  REQUIRE(run.code == 0);
  const fs::path last = run.run.path() / "checkpoints/latest";
  CHECK(Json::parse(plan.out).at("snapshot_bytes") ==
        data_bytes(last / "model.safetensors") + data_bytes(last / "optimizer.safetensors"));
  CHECK(contains(w.run({"plan", "small.toml"}).out, "more on rank 0 to save from"));
}

TEST_CASE("each checkpoint is on record with its step, its place and how long training waited for it") {
  const Workspace w;
  w.write("small.toml", kSmall + "[checkpoint]\nsave_every_steps = 7\nkeep_last = 9\n");
  const Outcome run = w.run({"run", "small.toml"});
  REQUIRE(run.code == 0);
  const auto saved = run.run.events("checkpoint");
  REQUIRE(saved.size() == 4);
  for (std::size_t i = 0; i < saved.size(); ++i) {
    const std::int64_t step = 7 * (static_cast<std::int64_t>(i) + 1);
    CHECK(saved[i].at("step") == step);
    CHECK(fs::exists(run.run.path() / saved[i].at("path").get<std::string>() / "COMPLETE"));
    CHECK(saved[i].at("stall").get<double>() >= 0);
    CHECK(saved[i].at("stall") <= saved[i].at("seconds"));
  }
}

}  // namespace ddp::system_test
