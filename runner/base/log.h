#pragma once

#include <string>

// Messages for a person, on stderr. This header hides spdlog: no file may include both spdlog and torch, because each
// brings its own version of fmt.
namespace ddp::log {

// How much a command prints on stderr. quiet: errors only; normal: also warnings and progress; verbose: also details.
enum class Verbosity { quiet, normal, verbose };

// Applies to this process and to children that it forks later. Files given to also_to() always get every line.
void set_verbosity(Verbosity verbosity);
Verbosity verbosity();

// Print lines for a person at the terminal: "warning: …". Colour only on a terminal without NO_COLOR.
void detail(const std::string& line);
void info(const std::string& line);
void warn(const std::string& line);
void error(const std::string& line);

// From now on, appends every line to that file, too. Throws ddp::Error (training) if the file cannot be opened.
void also_to(const std::string& file);

// From now on, lines begin with the time and this prefix: "12:30:01.123 rank 1 | …". `own_log`: stderr is the rank's
// own log file, which gets every line.
void become_rank(int rank, bool own_log);

}  // namespace ddp::log
