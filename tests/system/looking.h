#pragma once

#include <filesystem>
#include <iterator>
#include <map>
#include <sstream>
#include <string>
#include <vector>

#include "catch.h"
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

inline const std::map<std::string, std::string> kUtf8{{"LC_ALL", "C.UTF-8"}};

// Three runs: one with the file's settings, one with another learning rate, and one that failed.
struct Runs {
  Runs() {
    w.write("tiny.toml", kTiny);
    REQUIRE(w.run({"run", "tiny.toml", "--run-id", "1"}).code == 0);
    REQUIRE(w.run({"run", "tiny.toml", "--run-id", "2", "--set", "optimizer.lr=0.1"}).code == 0);
    REQUIRE(w.run({"run", "tiny.toml", "--run-id", "1", "--name", "burst", "--set", "optimizer.lr=1e30"}).code == 1);
  }
  // The stdout of a command, which must print nothing else.
  std::string look(const std::vector<std::string>& arguments) const {
    const Outcome looked = w.run(arguments, kUtf8);
    INFO(looked.err);
    CHECK(looked.code == 0);
    CHECK(looked.err.empty());
    return looked.out;
  }
  Json look_json(std::vector<std::string> arguments) const {
    arguments.push_back("--json");
    Json json = Json::parse(look(arguments));
    CHECK(json.at("version") == 1);
    return json;
  }
  const Workspace w;
};

// The words of a command line without quotes.
inline std::vector<std::string> words_of(const std::string& line) {
  std::istringstream in(line);
  return {std::istream_iterator<std::string>(in), {}};
}

// With this PATH a shell finds the program as "ddp-exp".
inline std::map<std::string, std::string> with_program_on_path() {
  return {{"PATH", std::filesystem::path(DDP_EXP).parent_path().string() + ":/usr/bin:/bin"}};
}

inline std::vector<std::string> lines_of(const std::string& text) {
  std::istringstream in(text);
  std::vector<std::string> lines;
  for (std::string line; std::getline(in, line);) lines.push_back(line);
  return lines;
}

}  // namespace ddp::system_test
