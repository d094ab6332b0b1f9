#pragma once

#include <filesystem>
#include <map>
#include <span>
#include <string>
#include <vector>

#include "base/embedded.h"
#include "config/option/value.h"
#include "report/read/history.h"

namespace ddp::report {

// The data of a report, as page/main.js reads it and `report --json` prints it; `program` names this program and its
// version. The size is bounded for runs of any length: several runs share a number of points.

// The histories of the runs of a page, which a page that is made again continues.
using Histories = std::map<std::filesystem::path, HistoryReader>;

// Throws ddp::Error (usage) if these are more runs than a page shows.
config::Value runs_data(const std::vector<std::filesystem::path>& runs, const std::string& program,
                        Histories& histories);

config::Value sweep_data(const std::filesystem::path& sweep, const std::string& program, Histories& histories);

config::Value report_schema();

// Returns data as above, or of `plan --preview` (commands/look/report) as one self-contained HTML
// file: style and script are inside, nothing is loaded, and its Content-Security-Policy blocks everything else. No text
// of the data can end its element. `live`: more style and script, whose function `follow` gets the data that the
// page shows; such a page may listen to the server that it came from.
std::string page(const config::Value& data, std::span<const EmbeddedFile> live = {});

}  // namespace ddp::report
