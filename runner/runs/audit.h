#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "config/option/fields.h"
#include "record/run_directory.h"
#include "record/summary.h"

namespace ddp::runs {

// A request to train a run, or parts of it, again.
struct AuditRequest {
  record::RunDirectory run;
  std::string results = "results";
  std::string device_pool = {};       // other devices, as TOML; empty: those of the run
  std::string run_id = {};            // of the new run; empty: a new one. An existing one is continued
  std::optional<int> stretches = {};  // number of parts; not given: all
  std::function<void(const std::string& line)> tell = {};            // receives the result of each part
  std::function<void(const record::RunDirectory& again)> show = {};  // shows the new folder once it is written
};

// A part of a run that was trained again.
struct Stretch {
  std::int64_t from = 0;  // step
  std::int64_t to = 0;
  bool same = false;
  std::string difference = {};  // the first tensor or member that differs; empty: none

  void fields(config::Fields& f) {
    f({"from", "step of the checkpoint before it; 0: the start of the run"}, from);
    f({"to", "step of the checkpoint that was compared"}, to);
    f({"same", "all bits are the same"}, same);
    f({.name = "difference", .doc = "the first tensor or member of state.json that differs", .may_be_null = true},
      difference);
  }
};

// audit.json
struct Audit {
  std::string run = {};
  std::string again = {};  // folder of a reproduction
  bool same = true;
  std::vector<Stretch> stretches = {};
  std::vector<std::string> places = {};  // differences of program, LibTorch, CPU and threads
  std::optional<record::Environment> then = {};
  record::Environment now = {};

  void fields(config::Fields& f) {
    f.version();
    f({"run", "folder of the run"}, run);
    f({.name = "again",
       .doc = "folder of the reproduction; null: parts of the run were trained again",
       .may_be_null = true},
      again);
    f({"same", "all bits are the same"}, same);
    f({"stretches", "parts of the run that were trained again"}, stretches);
    f({"differences", "of program, LibTorch, CPU and threads since the run"}, places);
    f({"then", "null: an older version trained the run"}, then);
    f({"now"}, now);
  }
};

// The result, or the exit code of a stopped command.
struct Audited {
  Audit audit = {};
  int stopped = 0;  // 128 + n: signal n stopped it; the audit is not complete
};

// Trains parts of a run again, in a scratch folder inside the run's, and compares all bits. Writes audit.json. Throws
// ddp::Error (usage) if data, sources or graphs have changed, or if there is nothing to compare.
Audited audit(const AuditRequest& request);

// Trains a whole run again, with the settings that it had at each step, in a new folder. The rest as audit().
Audited reproduce(const AuditRequest& request);

}  // namespace ddp::runs
