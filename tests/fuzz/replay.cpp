// Feeds every file of the given folders to a fuzz target, each within time and memory limits. The file names describe
// the inputs; some were found by scripts/soak.
#include <sys/resource.h>
#include <unistd.h>
#include <cstdio>
#include <fstream>
#include <iterator>
#include <string>

#include "target.h"

namespace {

constexpr unsigned kSeconds = 30;      // for one input on a busy machine
constexpr rlim_t kMemory = 512 << 20;  // in addition to the libraries

rlim_t data_in_use() {
  std::ifstream status("/proc/self/status");
  for (std::string line; std::getline(status, line);) {
    if (line.starts_with("VmData:")) return std::stoull(line.substr(7)) << 10;
  }
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  const rlim_t limit = data_in_use() + kMemory;
  const rlimit memory{.rlim_cur = limit, .rlim_max = limit};
  ddp::fuzz::require(setrlimit(RLIMIT_DATA, &memory) == 0, "memory can be limited");
  int inputs = 0;
  for (int i = 1; i < argc; ++i) {
    for (const auto& entry : std::filesystem::directory_iterator(argv[i])) {
      std::printf("%s\n", entry.path().filename().c_str());
      std::fflush(stdout);
      std::ifstream in(entry.path(), std::ios::binary);
      const std::string bytes{std::istreambuf_iterator<char>(in), {}};
      alarm(kSeconds);
      LLVMFuzzerTestOneInput(reinterpret_cast<const std::uint8_t*>(bytes.data()), bytes.size());
      ++inputs;
    }
  }
  alarm(0);
  std::printf("%d inputs\n", inputs);
  return inputs > 0 ? 0 : 1;
}
