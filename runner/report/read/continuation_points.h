#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "config/value.h"

namespace ddp::report {

// A point at which a run continued: a restart of its ranks, a resume by a person, or its start as a fork.
struct ContinuationPoint {
  std::string event;  // "restart" or "resume"
  std::int64_t step = 0;
  std::string cause;                                // for a restart
  std::string origin;                               // for a resume that starts a fork: the other run
  config::Value changes = config::Value::object();  // for a resume: {"epochs": [3, 5]}
};

// Returns the continuation points of a run from metrics.jsonl; skips steps unparsed. Throws ddp::Error if the file is
// too large to search.
std::vector<ContinuationPoint> continuation_points_of(const std::filesystem::path& metrics);

// "after step 32: rank 1: killed by SIGKILL", "after step 40, epochs 5 for 3", "after step 40 of basic/a".
std::string in_words(const ContinuationPoint& point);

config::Value to_json(const ContinuationPoint& point);

}  // namespace ddp::report
