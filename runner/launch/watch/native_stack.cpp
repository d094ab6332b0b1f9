#include "launch/watch/native_stack.h"

#include <sstream>

namespace ddp::launch {
namespace {

// Reading LibTorch's symbols alone takes gdb about 5 s.
constexpr std::chrono::seconds kPatience{30};
constexpr int kFrames = 8;
constexpr std::size_t kLongestFrame = 160;

}  // namespace

NativeStack::NativeStack(pid_t pid)
    : gdb_({"gdb", "-nx", "-batch", "-iex", "set auto-load off", "-iex", "set debuginfod enabled off", "-ex",
            "set width 0", "-ex", "set print frame-arguments none", "-ex", "thread apply all bt 20", "-p",
            std::to_string(pid)}) {}

bool NativeStack::read() {
  const bool more = gdb_.read();
  ended_ = !more;
  return more;
}

bool NativeStack::over() const { return ended_ || Clock::now() - begun_ > kPatience; }

std::string NativeStack::main_thread() const {
  const auto at = text().find("\nThread 1 ");
  if (at == std::string::npos) return "";
  std::istringstream lines(text().substr(at + 1));
  std::string frames;
  std::string line;
  std::getline(lines, line);
  for (int i = 0; i < kFrames && std::getline(lines, line) && line.starts_with("#"); ++i) {
    // "#1  0x00007f2ccc939a41 in f() from lib.so": addresses change with every run.
    const auto address = line.find("0x");
    const auto name = line.find(" in ", address);
    if (address <= 4 && name != std::string::npos) line.erase(address, name + 4 - address);
    frames += "\n    | " + line.substr(0, kLongestFrame);
  }
  return frames;
}

}  // namespace ddp::launch
