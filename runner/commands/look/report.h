#pragma once

#include <filesystem>

#include "config/option/value.h"
#include "runs/prepare.h"

namespace ddp::commands {

// Writes report.html, the page about a sweep, into the sweep's folder; returns the file. Throws ddp::Error.
std::filesystem::path write_sweep_report(const std::filesystem::path& sweep);

// Throws ddp::Error (usage) if a file with this ending cannot have the name that the option gives; called before data
// are read for it. The ending keeps a slip from replacing another file, such as /dev/stdout.
void require_name(const std::filesystem::path& file, const std::string& option, const std::string& ending);

// Writes a page that shows the data of an experiment, from the output of data::describe. Throws ddp::Error (usage) if
// the page cannot be written.
void write_preview(const std::filesystem::path& page, const runs::Prepared& prepared,
                   const config::DataDescription& description);

// Writes the set of each row as a CSV (data::sets_of_rows). Throws ddp::Error (usage) if the file cannot be written.
void write_sets(const std::filesystem::path& file, const runs::Prepared& prepared);

}  // namespace ddp::commands
