#pragma once

#include <string>
#include <vector>

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
// Prints warnings; of very many, only the first.
void warn_of(const std::vector<std::string>& problems);

// Prints whole lines as they are.
void print(const std::string& lines);
// Prints a picture of the moment on a terminal, such as the live line. It is left out if the terminal takes no more.
void draw(const std::string& picture);

// From now on, this process does not wait for a reader of stderr: lines that find no place are dropped, and their
// number is printed when there is place again. For a process that watches others. A reader who has gone is never an
// error.
void never_wait();
// In a forked child: its stderr is another one, for which it waits.
void forget_dropped();

// From now on, appends every line to that file, too. Throws ddp::Error (training) if the file cannot be opened.
void also_to(const std::string& file);

// From now on, lines begin with the time and this prefix: "12:30:01.123 rank 1 | …". `own_log`: stderr is the rank's
// own log file, which gets every line.
void become_rank(int rank, bool own_log);

}  // namespace ddp::log
