#include <fstream>
#include <sstream>

#include "catch.h"
#include "tables.h"

namespace ddp::system_test {
namespace fs = std::filesystem;
namespace {

// Plans x.toml with its own cache folder. A probe needs a child process.
struct PlanWorkspace : Workspace {
  explicit PlanWorkspace(const std::string& text = kSmall) : Workspace("x.toml", text) {
    environment_["XDG_CACHE_HOME"] = folder() / "cache";
  }
  Outcome plan(const Words& more = {}) const { return done(joined({"plan", "x.toml"}, more)); }
  Outcome plan_refused(const Words& more, const Words& said) const {
    return refused(joined({"plan", "x.toml"}, more), said);
  }
  // The same in a process that cannot have children: exit code 0 shows that the result was cached.
  Outcome plan_without_child(int code, const Words& more = {}) const {
    return ends(code, joined({"plan", "x.toml"}, more), {}, {{"LD_PRELOAD", DDP_NO_FORK}});
  }
};

// A plan without what was measured anew: the memory of a rank, and how much is free.
std::string planned(const Outcome& plan) {
  std::istringstream lines(plan.out);
  std::string kept;
  for (std::string line; std::getline(lines, line);) {
    if (!line.starts_with("peak") && !line.starts_with("replay")) kept += line + "\n";
  }
  return kept;
}

const std::string kDigits = R"(
dataset     = { name = "digits" }
device_pool = ["cpu", "cpu"]
[model]
name = "mlp"
in_features = 64
hidden = [8]
out_features = 10
)";

}  // namespace

TEST_CASE("a probed configuration is not probed again") {
  const PlanWorkspace w;
  CHECK(contains(w.plan_without_child(1).err, "cannot start a process"));
  const std::string first = planned(w.plan());
  CHECK(planned(w.plan_without_child(0)) == first);
  // Another model, batch size or placement of the ranks is another configuration.
  for (const char* set : {"model.hidden=[9]", "batch_size=9", "device_pool=1"}) w.plan_without_child(1, {"--set", set});
}

TEST_CASE("a refused configuration is refused again, also in a new probe") {
  const PlanWorkspace w;
  const Words wrong{"--set", "model.in_features=5"};
  const std::string first = w.plan_refused(wrong, {"does not accept inputs of the dataset"}).err;
  CHECK(w.plan_refused(wrong, {}).err == first);
  w.plan_without_child(1, wrong);
}

TEST_CASE("a data file that has changed is probed again and refused if it is damaged") {
  for (const bool named : {true, false}) {
    INFO((named ? "an option names it" : "it is taken where no option names one"));
    const PlanWorkspace w(kDigits);
    const std::string file = named ? "my.csv" : "cache/ddp-exp/data/digits.csv.gz";
    const Words data = named ? Words{"--set", "dataset.path=my.csv"} : Words{};
    w.write(file, digits_csv(40));
    const std::string first = w.plan(data).out;
    w.write(file, digits_csv(60));
    CHECK(w.plan(data).out != first);
    w.write(file, "3,4,5\n" + digits_csv(60));
    w.refused(joined({"run", "x.toml"}, data), {"is not the digits dataset"});
    CHECK_FALSE(fs::exists(w.results()));
  }
}

TEST_CASE("changed first weights are probed again") {
  const PlanWorkspace w;
  const Outcome trained = w.done({"run", "x.toml", "--set", "epochs=1"});
  const fs::path weights = w.folder() / "own.safetensors";
  fs::copy_file(trained.run.path() / "checkpoints/latest/model.safetensors", weights);
  const Words from{"--set", "init_from=own.safetensors"};
  w.plan(from);
  w.plan_without_child(0, from);
  fs::resize_file(weights, fs::file_size(weights) - 4);
  w.plan_refused(from, {"own.safetensors"});
}

TEST_CASE("a damaged entry of the cache is probed again and replaced") {
  const PlanWorkspace w;
  const std::string first = planned(w.plan());
  REQUIRE(fs::exists(w.folder() / "cache/ddp-exp/probes"));
  for (const auto& entry : fs::directory_iterator(w.folder() / "cache/ddp-exp/probes")) {
    std::string text = text_of(entry.path());
    text[text.size() / 2] ^= 1;
    std::ofstream(entry.path(), std::ios::binary) << text;
  }
  w.plan_without_child(1);
  CHECK(planned(w.plan()) == first);
  CHECK(planned(w.plan_without_child(0)) == first);
}

TEST_CASE("a cache folder without write permission changes nothing that a user sees") {
  const PlanWorkspace w;
  w.write("cache", "a file in place of the folder");
  const Outcome plan = w.plan();
  CHECK(plan.err.empty());
  CHECK(planned(w.plan()) == planned(plan));
  w.done({"run", "x.toml"});
}

}  // namespace ddp::system_test
