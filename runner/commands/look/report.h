#pragma once

#include <filesystem>

namespace ddp::commands {

// Writes report.html, the page about a sweep, into the sweep's folder; returns the file. Throws ddp::Error.
std::filesystem::path write_sweep_report(const std::filesystem::path& sweep);

}  // namespace ddp::commands
