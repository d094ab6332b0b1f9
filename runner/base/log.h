#pragma once

#include <string>

// What a person is told, on stderr. Behind a header of our own, so that no file includes both spdlog and
// torch: each brings its own version of fmt.
namespace ddp::log {

// How much a command prints on stderr: only errors; also warnings and progress; or also details.
enum class Verbosity { quiet, normal, verbose };

// Holds for this process and its later children. Files that also_to() names get every line in any case.
void set_verbosity(Verbosity verbosity);
Verbosity verbosity();

// Plain lines for a person at the terminal: "warning: …"; colour only on a terminal without NO_COLOR.
void detail(const std::string& line);
void info(const std::string& line);
void warn(const std::string& line);
void error(const std::string& line);

// From now on, every line also goes to that file, at its end. Throws ddp::Error (training) where it cannot be opened.
void also_to(const std::string& file);

// From now on, lines carry the time and this prefix: "12:30:01.123 rank 1 | …". `own_log`: stderr is the rank's own log
// file, which gets every line.
void become_rank(int rank, bool own_log);

}  // namespace ddp::log
