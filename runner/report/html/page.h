#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "config/value.h"

namespace ddp::report {

// The data of a report, as page/main.js reads it and `report --json` prints it; `program` names this program and its
// version. The size is bounded for runs of any length: several runs share a number of points.

// Throws ddp::Error (usage) if these are more runs than a page shows.
config::Value runs_data(const std::vector<std::filesystem::path>& runs, const std::string& program);

config::Value sweep_data(const std::filesystem::path& sweep, const std::string& program);

config::Value report_schema();

// Returns data as above, or of `plan --preview` (commands/look/report) as one self-contained HTML
// file: style and script are inside, nothing is loaded, and its Content-Security-Policy blocks everything else. No text
// of the data can end its element.
std::string page(const config::Value& data);

}  // namespace ddp::report
