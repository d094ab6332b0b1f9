#include "commands/train/output.h"

#include <poll.h>
#include <unistd.h>
#include <csignal>
#include <iostream>

#include <CLI/CLI.hpp>

#include "base/log.h"

namespace ddp::commands {

void add_output(CLI::App& verb) {
  verb.preparse_callback([](std::size_t) { log::never_wait(); });
  CLI::Option* verbose = verb.add_flag_callback(
      "-v,--verbose", [] { log::set_verbosity(log::Verbosity::verbose); },
      "also print a line for each epoch and rank, and for each checkpoint");
  verb.add_flag_callback(
          "-q,--quiet", [] { log::set_verbosity(log::Verbosity::quiet); }, "print only errors on stderr")
      ->excludes(verbose);
}

void print_folder(const std::filesystem::path& folder) {
  // A pipe without a reader must not end this process, also when it has trained.
  std::signal(SIGPIPE, SIG_IGN);
  std::cout << folder.string() << '\n';
  // A full pipe gets the line at the end: training does not wait for the reader.
  pollfd out{.fd = STDOUT_FILENO, .events = POLLOUT, .revents = 0};
  if (poll(&out, 1, 0) > 0) std::cout.flush();
}

}  // namespace ddp::commands
