#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>
#include <cstdio>
#include <cstdlib>
#include <fstream>

#include "catch.h"
#include "long_run.h"

namespace ddp::system_test {
namespace fs = std::filesystem;
namespace {

void put(const fs::path& file, const std::string& text) { std::ofstream(file) << text; }

// A memory cgroup of version 1, made inside this process's own and removed on destruction.
class MemoryCgroup {
 public:
  MemoryCgroup() {
    std::ifstream in("/proc/self/cgroup");
    for (std::string line; std::getline(in, line);) {
      const auto at = line.find(":memory:");
      if (at != std::string::npos) own_ = "/sys/fs/cgroup/memory" + line.substr(at + 8);
    }
    std::error_code none;
    if (!fs::exists(own_ / "cgroup.procs", none)) own_ = "/sys/fs/cgroup/memory";
    folder_ = own_ / ("ddp-exp-test-" + std::to_string(getpid()));
    made_ = fs::create_directory(folder_, none) && fs::exists(folder_ / "memory.limit_in_bytes", none);
  }
  ~MemoryCgroup() {
    leave();
    if (made_) rmdir(folder_.c_str());
  }
  MemoryCgroup(const MemoryCgroup&) = delete;
  MemoryCgroup& operator=(const MemoryCgroup&) = delete;

  bool made() const { return made_; }
  // Moves this process into it, with all processes that it starts from now on.
  void enter() const { put(folder_ / "cgroup.procs", std::to_string(getpid())); }
  void leave() const { put(own_ / "cgroup.procs", std::to_string(getpid())); }
  bool holds(pid_t pid) const { return contains(text_of(folder_ / "cgroup.procs"), std::to_string(pid)); }
  void limit(std::size_t bytes) const { put(folder_ / "memory.limit_in_bytes", std::to_string(bytes)); }
  bool has_killed() const { return !contains(text_of(folder_ / "memory.oom_control"), "\noom_kill 0"); }

 private:
  fs::path own_;
  fs::path folder_;
  bool made_ = false;
};

// Takes memory until the kernel has killed another process for it.
void exhaust(const MemoryCgroup& cgroup) {
  cgroup.enter();
  const pid_t pid = fork();
  if (pid == 0) {
    put("/proc/self/oom_score_adj", "-1000");
    constexpr std::size_t kPiece = 1 << 20;
    while (!cgroup.has_killed()) {
      void* piece = mmap(nullptr, kPiece, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_POPULATE, -1, 0);
      if (piece == MAP_FAILED) break;
    }
    _exit(0);
  }
  cgroup.leave();
  waitpid(pid, nullptr, 0);
}

}  // namespace

TEST_CASE("a rank killed by the kernel's OOM killer is distinguished from a rank that somebody killed") {
  const MemoryCgroup cgroup;
  if (!cgroup.made()) {
    std::puts("skipped: no memory cgroup of version 1 can be made here");
    std::exit(77);
  }
  cgroup.enter();
  const LongRun run({});
  cgroup.leave();
  REQUIRE(run.process().wait_for_ranks(2));
  const pid_t victim = run.process().ranks().at(1);
  REQUIRE(cgroup.holds(victim));
  put("/proc/" + std::to_string(victim) + "/oom_score_adj", "1000");
  cgroup.limit(std::size_t{512} << 20);
  exhaust(cgroup);
  const Outcome ended = run.ends(1, {"rank 1 (cpu): killed by SIGKILL after step "});
  CHECK(contains(
      ended.err,
      ", by the kernel's OOM killer (cgroup memory.oom_control: oom_kill went from 0 to "));  // the kernel may kill two
}

TEST_CASE("without evidence of the OOM killer another process is named") {
  const LongRun run({});
  REQUIRE(run.process().wait_for_ranks(2));
  kill(run.process().ranks().at(1), SIGKILL);
  const Outcome ended = run.finish();
  INFO(ended.err);
  CHECK(contains(ended.err, "killed by SIGKILL after step "));
  CHECK((contains(ended.err, ", not by the kernel for lack of memory (cgroup memory.") ||
         contains(ended.err, "; by the kernel's OOM killer? (no cgroup")));
}

TEST_CASE("a signal other than SIGKILL never suggests the OOM killer") {
  const LongRun run({});
  REQUIRE(run.process().wait_for_ranks(2));
  kill(run.process().ranks().at(1), SIGABRT);
  const Outcome ended = run.finish();
  INFO(ended.err);
  CHECK(contains(ended.err, "killed by SIGABRT after step "));
  CHECK_FALSE(contains(ended.err, "OOM"));
}

}  // namespace ddp::system_test
