#pragma once

#include <filesystem>
#include <string>

#include "record/file/atomic_file.h"
#include "record/file/input_file.h"
#include "record/run_directory.h"
#include "record/saves/checkpoint_index.h"

namespace ddp::record {

// Begins a run with this name and id, and without results.
inline RunDirectory started(const std::filesystem::path& results, const std::string& name, const std::string& id) {
  const RunDirectory run = RunDirectory::create(results, name, id);
  run.begin([&] { return "name = \"" + name + "\"\n"; });
  return run;
}

// Writes a complete checkpoint, as the index sees it, and returns its folder. `reason`: "" leaves it out of state.json.
inline std::filesystem::path saved(const std::filesystem::path& checkpoints, int step,
                                   const std::string& value = "null", const std::string& reason = "",
                                   const std::string& metric = "\"name\":\"val_loss\"") {
  const std::string digits = std::to_string(step);
  const std::filesystem::path folder = checkpoints / ("step-" + std::string(8 - digits.size(), '0') + digits);
  const std::string state =
      "{\"step\":" + digits +
      ",\"epoch\":0,\"position\":0,\"offset\":0,\"world_size\":1,\"global_batch_size\":8,\"seconds\":1," +
      (reason.empty() ? "" : "\"reason\":\"" + reason + "\",") + "\"metric\":{" + metric + ",\"value\":" + value + "}}";
  std::filesystem::create_directories(folder);
  write_atomically(folder / "state.json", state);
  write_atomically(folder / kComplete, hash_hex(state) + "\n");
  return folder;
}

}  // namespace ddp::record
