#include <fstream>

#include "catch.h"
#include "workspace.h"

namespace ddp::system_test {
namespace fs = std::filesystem;
namespace {

// The program plans with its own cache folder. A probe needs a child process.
class Planned {
 public:
  std::map<std::string, std::string> with_cache() const { return {{"XDG_CACHE_HOME", cache().string()}}; }
  Outcome plan(const std::vector<std::string>& more = {}) const { return run("plan", more, with_cache()); }
  // The same in a process that cannot have children: it can only report cached results.
  Outcome plan_without_child(const std::vector<std::string>& more = {}) const {
    auto environment = with_cache();
    environment["LD_PRELOAD"] = DDP_NO_FORK;
    return run("plan", more, environment);
  }
  Outcome run(const std::string& verb, const std::vector<std::string>& more,
              const std::map<std::string, std::string>& environment) const {
    std::vector<std::string> arguments{verb, "x.toml"};
    arguments.insert(arguments.end(), more.begin(), more.end());
    return w.run(arguments, environment);
  }
  fs::path cache() const { return w.folder() / "cache"; }
  fs::path entries() const { return cache() / "ddp-exp/probes"; }

  const Workspace w;
};

// Lines of the digits dataset.
std::string digits(int lines) {
  std::string text;
  for (int i = 0; i < lines; ++i) {
    for (int pixel = 0; pixel < 64; ++pixel) text += "3,";
    text += std::to_string(i % 10) + "\n";
  }
  return text;
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
  const Planned p;
  p.w.write("x.toml", kSmall);
  const Outcome untried = p.plan_without_child();
  CHECK(untried.code == 1);
  CHECK(contains(untried.err, "cannot start a process"));
  const Outcome first = p.plan();
  CHECK(first.code == 0);
  const Outcome second = p.plan_without_child();
  INFO(second.err);
  CHECK(second.code == 0);
  CHECK(second.out == first.out);
  // Another model, batch size or placement of the ranks is another configuration.
  CHECK(p.plan_without_child({"--set", "model.hidden=[9]"}).code == 1);
  CHECK(p.plan_without_child({"--set", "batch_size=9"}).code == 1);
  CHECK(p.plan_without_child({"--set", "device_pool=1"}).code == 1);
}

TEST_CASE("a refused configuration is refused again, also in a new probe") {
  const Planned p;
  p.w.write("x.toml", kSmall);
  const std::vector<std::string> wrong{"--set", "model.in_features=5"};
  const Outcome first = p.plan(wrong);
  CHECK(first.code == 2);
  CHECK(contains(first.err, "does not accept inputs of the dataset"));
  CHECK(p.plan(wrong).err == first.err);
  CHECK(p.plan_without_child(wrong).code == 1);
}

TEST_CASE("a data file that has changed is probed again and refused if it is damaged") {
  for (const bool named : {true, false}) {
    INFO((named ? "an option names it" : "it is taken where no option names one"));
    const Planned p;
    p.w.write("x.toml", kDigits);
    const std::string file = named ? "my.csv" : "cache/ddp-exp/data/digits.csv.gz";
    p.w.write(file, digits(40));
    const std::vector<std::string> data =
        named ? std::vector<std::string>{"--set", "dataset.path=my.csv"} : std::vector<std::string>{};
    const Outcome first = p.plan(data);
    INFO(first.err);
    REQUIRE(first.code == 0);
    p.w.write(file, digits(60));
    const Outcome more = p.plan(data);
    CHECK(more.code == 0);
    CHECK(more.out != first.out);
    p.w.write(file, "3,4,5\n" + digits(60));
    const Outcome damaged = p.run("run", data, p.with_cache());
    CHECK(damaged.code == 2);
    CHECK(contains(damaged.err, "is not the digits dataset"));
    CHECK_FALSE(fs::exists(p.w.results()));
  }
}

TEST_CASE("changed first weights are probed again") {
  const Planned p;
  p.w.write("x.toml", kSmall);
  const Outcome trained = p.run("run", {"--set", "epochs=1"}, p.with_cache());
  REQUIRE(trained.code == 0);
  const fs::path weights = p.w.folder() / "own.safetensors";
  fs::copy_file(trained.run.path() / "checkpoints/latest/model.safetensors", weights);
  const std::vector<std::string> from{"--set", "init_from=own.safetensors"};
  REQUIRE(p.plan(from).code == 0);
  REQUIRE(p.plan_without_child(from).code == 0);
  fs::resize_file(weights, fs::file_size(weights) - 4);
  const Outcome cut = p.plan(from);
  CHECK(cut.code == 2);
  CHECK(contains(cut.err, "own.safetensors"));
}

TEST_CASE("a damaged entry of the cache is probed again and replaced") {
  const Planned p;
  p.w.write("x.toml", kSmall);
  const Outcome first = p.plan();
  REQUIRE(fs::exists(p.entries()));
  for (const auto& entry : fs::directory_iterator(p.entries())) {
    std::string text = text_of(entry.path());
    text[text.size() / 2] ^= 1;
    std::ofstream(entry.path(), std::ios::binary) << text;
  }
  CHECK(p.plan_without_child().code == 1);
  CHECK(p.plan().out == first.out);
  CHECK(p.plan_without_child().out == first.out);
}

TEST_CASE("a cache folder without write permission changes nothing that a user sees") {
  const Planned p;
  p.w.write("x.toml", kSmall);
  p.w.write("cache", "a file in place of the folder");
  const Outcome plan = p.plan();
  CHECK(plan.code == 0);
  CHECK(plan.err.empty());
  CHECK(p.plan().out == plan.out);
  CHECK(p.run("run", {"--set", "epochs=1"}, p.with_cache()).code == 0);
}

}  // namespace ddp::system_test
