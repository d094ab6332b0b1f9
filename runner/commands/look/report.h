#pragma once

#include <filesystem>

namespace ddp::commands {

// Writes the page about a sweep, report.html in its folder; returns the file. Throws ddp::Error.
std::filesystem::path write_sweep_report(const std::filesystem::path& sweep);

}  // namespace ddp::commands
