#include "launch/process/process_state.h"

#include <fstream>
#include <sstream>
#include <string>

namespace ddp::launch {

ProcessState state_of(pid_t pid) {
  std::ifstream in("/proc/" + std::to_string(pid) + "/stat");
  std::string stat;
  std::getline(in, stat);
  // proc(5): after the name in parentheses come the state and, eleven fields later, user and system time.
  const auto end = stat.rfind(')');
  if (end == std::string::npos) return {};
  std::istringstream fields(stat.substr(end + 1));
  char state = 0;
  fields >> state;
  std::string skipped;
  for (int i = 0; i < 10; ++i) fields >> skipped;
  long user = 0;
  long system = 0;
  fields >> user >> system;
  return {.stopped = state == 'T' || state == 't', .processor_time = user + system};
}

}  // namespace ddp::launch
