#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include <nlohmann/json.hpp>

#include "process.h"
#include "words.h"

namespace ddp::system_test {

using Json = nlohmann::json;

// Reads the object in a JSON file. Throws with the file's name.
Json json_of(const std::filesystem::path& file);

// A run directory, as another program reads it.
class RunFolder {
 public:
  explicit RunFolder(std::filesystem::path path) : path_(std::move(path)) {}

  const std::filesystem::path& path() const { return path_; }
  bool exists() const { return std::filesystem::exists(path_); }
  Json summary() const { return json_of(path_ / "summary.json"); }
  // The complete lines of metrics.jsonl: of one event, or all.
  std::vector<Json> events(const std::string& event = "") const;
  std::int64_t last_step() const;
  // Returns true if each step from 1 to `steps` is present exactly once, in order.
  bool has_each_step_once(std::int64_t steps) const;
  // "epoch step loss lr samples" of each step: the values that must be the same when a run is repeated.
  std::string training() const;
  std::filesystem::path checkpoint(std::int64_t step) const;
  // model.safetensors of the newest checkpoint.
  std::string model() const { return text_of(path_ / "checkpoints" / "latest" / "model.safetensors"); }
  std::string optimizer() const { return text_of(path_ / "checkpoints" / "latest" / "optimizer.safetensors"); }
  std::string log(int rank) const { return text_of(path_ / "logs" / ("rank-" + std::to_string(rank) + ".log")); }
  // All entries, sorted: "checkpoints/", "config.toml", "checkpoints/latest@".
  std::vector<std::string> listing() const;

 private:
  std::filesystem::path path_;
};

}  // namespace ddp::system_test
