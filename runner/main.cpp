#include <fcntl.h>
#include <unistd.h>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <iostream>
#include <new>

#include "base/log.h"
#include "base/own_command.h"
#include "commands/commands.h"

namespace {

// If memory runs out while a library is loaded, or in a thread, nobody catches the exception.
[[noreturn]] void abort_out_of_memory() {
  static constexpr char kText[] = "error: not enough memory\n";
  try {
    if (const auto thrown = std::current_exception()) std::rethrow_exception(thrown);
  } catch (const std::bad_alloc&) {
    if (write(STDERR_FILENO, kText, sizeof kText - 1) > 0) _exit(1);
  } catch (...) {  // a bug: a core dump tells more
  }
  std::abort();
}

// If descriptor 0, 1 or 2 is closed, the next file that this process opens would get that number, and output would go
// into the file. A closed stdout is no error: nobody wants the output.
void open_standard_descriptors() {
  for (int standard = STDIN_FILENO; standard <= STDERR_FILENO; ++standard) {
    if (fcntl(standard, F_GETFD) < 0) open("/dev/null", O_RDWR);
  }
}

// Output that cannot be written is an error, for example on a full disk. If the stream has failed before, it is not
// flushed again, because a write to a closed pipe would kill this process.
int flush_output(int exit_code) {
  const bool arrived = std::cout.good() && std::cout.flush().good() && std::fflush(nullptr) == 0;
  if (arrived || exit_code != 0) return exit_code;
  ddp::log::error("stdout is full or closed; some output is lost");
  return 1;
}

}  // namespace

int main(int argc, char** argv) {
  std::set_terminate(abort_out_of_memory);
  open_standard_descriptors();
  ddp::remember_call(argc > 0 ? argv[0] : nullptr);
  // _exit, not return: LibTorch's teardown of its operator tables at exit takes longer than their setup.
  _exit(flush_output(ddp::commands::run_command(argc, argv)));
}
