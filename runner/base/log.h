#pragma once

#include <string>

// What a person is told, on stderr. Behind a header of our own, so that no file includes both spdlog and
// torch: each brings its own version of fmt.
namespace ddp::log {

// Plain lines for a person at the terminal: "warning: …"; colour only on a terminal without NO_COLOR.
void info(const std::string& line);
void warn(const std::string& line);
void error(const std::string& line);

// From now on, every line also goes to that file, at its end.
void also_to(const std::string& file);

// From now on, lines carry the time and this prefix: "12:30:01.123 rank 1 | …". For a rank's own log file.
void become_rank(int rank);

}  // namespace ddp::log
