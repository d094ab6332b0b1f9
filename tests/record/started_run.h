#pragma once

#include <filesystem>
#include <string>

#include "record/run_directory.h"

namespace ddp::record {

// Begins a run with this name and id, and without results.
inline RunDirectory started(const std::filesystem::path& results, const std::string& name, const std::string& id) {
  const RunDirectory run = RunDirectory::create(results, name, id);
  run.begin([&] { return "name = \"" + name + "\"\n"; });
  return run;
}

}  // namespace ddp::record
