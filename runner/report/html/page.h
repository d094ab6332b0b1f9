#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "config/value.h"

namespace ddp::report {

// The data of a report, as page/main.js reads it and `report --json` prints it:
//   {"version": 1, "kind": "runs", "program": "ddp-exp 0.1.0", "written": "2026-…Z", "runs": [RUN, …],
//    "problems": […]}
//   {"version": 1, "kind": "sweep", …, "sweep": {…}, "environment": RUN, "runs": [TRIAL, …], "runs_left_out": 0}
// RUN has the members of summary.json, and "label", "folder", "config" (flat: {"optimizer.lr": 0.1}), "per_step" and
// "per_epoch" (Curves::to_json), "events", "checkpoints". TRIAL has "trial", "per_step", "per_epoch", "events".
// "problems" has a line for each thing that could not be read and was skipped. The size is bounded for runs of any
// length: several runs share a number of points.

// Throws ddp::Error (usage) if these are more runs than a page shows.
config::Value runs_data(const std::vector<std::filesystem::path>& runs);

config::Value sweep_data(const std::filesystem::path& sweep);

// Returns data as above, or of `plan --preview` (commands/look/preview) as one self-contained HTML
// file: style and script are inside, nothing is loaded, and its Content-Security-Policy blocks everything else. No text
// of the data can end its element.
std::string page(const config::Value& data);

}  // namespace ddp::report
