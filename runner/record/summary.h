#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "config/value.h"
#include "record/run_directory.h"

namespace ddp::record {

// What went wrong: which rank, what, and where to look.
struct Failure {
  int rank = -1;  // -1: no single rank
  std::string what;
  std::string log;
};

// What is wrong where a loss is not finite: to go on as before ends in the same.
inline constexpr const char* kLossNotFinite = " is not finite";

// The checkpoint that a fork began with.
struct Origin {
  std::string run;         // as commands take it: "name/run-id", or its folder where it is under another results root
  std::string checkpoint;  // "step-00000046"
  std::int64_t step = 0;
};
config::Value to_json(const Origin& origin);
// The reverse, of a file from outside: what is missing, or of another type, stays empty. Nothing where it is no object.
std::optional<Origin> read_origin(const config::Value& json);

// summary.json: how a run ended, or that it is running.
struct Summary {
  std::string status = "running";  // running | completed | failed | interrupted
  std::string stopped_by;          // the rule that ended a completed run before its last step; empty: none did
  std::string name;
  std::string started;  // when, as record/timestamp.h says it; of a run that goes on, when it began first
  std::int64_t epochs = 0;
  std::int64_t steps = 0;
  config::Value final_metrics = config::Value::object();  // those there are, by name
  config::Value best = config::Value::object();           // metric, value, step
  config::Value test = config::Value::object();           // those of the test, by name; empty: there was none
  double seconds = 0;
  std::int64_t parameters = 0;  // numbers of the model; 0: it was not built yet
  std::int64_t frozen_parameters = 0;
  int world_size = 0;
  std::vector<std::string> devices;
  std::string backend;  // "none": one process, which talks to none
  config::Value versions = config::Value::object();
  config::Value git = nullptr;  // commit, dirty; null outside a git checkout
  std::string config_hash;
  int restarts = 0;
  std::optional<Origin> origin;  // of a fork
  std::string launch;            // names the launcher's launch, so that it finds the run when it starts the ranks again
  std::optional<Failure> error;
};

// The origin that summary.json names; nothing where the run is no fork. Throws ddp::Error (usage) where the file cannot
// be read.
std::optional<Origin> origin_of(const RunDirectory& run);

// Puts summary.json in place, whole; a run that is not running has ended now. Throws ddp::Error (training).
void write_summary(const RunDirectory& run, const Summary& summary);

}  // namespace ddp::record
