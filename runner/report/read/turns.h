#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "config/value.h"

namespace ddp::report {

// A point at which a run went on: its ranks were started again, a person resumed it, or it began as a fork.
struct Turn {
  std::string event;  // "restart" or "resume"
  std::int64_t step = 0;
  std::string cause;                                // of a restart
  std::string origin;                               // of a resume that is a fork's begin: the other run
  config::Value changes = config::Value::object();  // of a resume: {"epochs": [3, 5]}
};

// Of a run, from metrics.jsonl; steps are passed by without being read. Throws ddp::Error where the file is too large
// to look through.
std::vector<Turn> turns_of(const std::filesystem::path& metrics);

// "after step 32: rank 1: killed by SIGKILL", "after step 40, epochs 5 for 3", "after step 40 of basic/a".
std::string in_words(const Turn& turn);

config::Value to_json(const Turn& turn);

}  // namespace ddp::report
