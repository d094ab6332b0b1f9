#include "record/console.h"

#include <unistd.h>
#include <climits>

#include "base/log.h"

namespace ddp::record {

void Console::line(const std::string& text) const {
  log::info(text);
  if (log::verbosity() != log::Verbosity::quiet) tell(text);
}

void Console::detail(const std::string& text) const {
  log::detail(text);
  if (log::verbosity() == log::Verbosity::verbose) tell(text);
}

void Console::tell(const std::string& text) const {
  if (pipe_ < 0) return;
  // POSIX does not mix a write of at most PIPE_BUF bytes with another rank's. If the parent is gone, nobody reads the
  // line.
  const std::string whole = text.substr(0, PIPE_BUF - 1) + "\n";
  [[maybe_unused]] const auto written = write(pipe_, whole.data(), whole.size());
}

}  // namespace ddp::record
