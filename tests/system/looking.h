#pragma once

#include <filesystem>
#include <string>

#include "catch.h"
#include "lines.h"
#include "workspace.h"

namespace ddp::system_test {

inline const std::string kTiny = R"(
model       = "linear"
dataset     = { name = "random_pairs", size = 64 }
device_pool = ["cpu"]
epochs      = 3
batch_size  = 8
threads     = 1
)";

inline const Environment kUtf8{{"LC_ALL", "C.UTF-8"}};

// Three runs: one with the file's settings, one with another learning rate, and one that failed.
struct Runs {
  Runs() {
    w.write("tiny.toml", kTiny);
    w.done({"run", "tiny.toml", "--run-id", "1"});
    w.done({"run", "tiny.toml", "--run-id", "2", "--set", "optimizer.lr=0.1"});
    w.ends(1, {"run", "tiny.toml", "--run-id", "1", "--name", "burst", "--set", "optimizer.lr=1e30"});
  }
  // The stdout of a command, which must print nothing else.
  std::string look(const Words& words) const {
    const Outcome looked = w.done(words, {}, kUtf8);
    CHECK(looked.err.empty());
    return looked.out;
  }
  Json look_json(Words arguments) const {
    arguments.push_back("--json");
    Json json = Json::parse(look(arguments));
    CHECK(json.at("version") == 1);
    return json;
  }
  const Workspace w;
};

// With this PATH a shell finds the program as "ddp-exp".
inline Environment with_program_on_path() {
  return {{"PATH", std::filesystem::path(DDP_EXP).parent_path().string() + ":/usr/bin:/bin"}};
}

}  // namespace ddp::system_test
