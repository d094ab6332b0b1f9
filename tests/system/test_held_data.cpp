#include <unistd.h>
#include <set>
#include <sstream>

#include "catch.h"
#include "workspace.h"

namespace ddp::system_test {
namespace fs = std::filesystem;
namespace {

// Trains on a user's file, with its own cache folder.
struct HeldRun {
  explicit HeldRun(const std::string& epochs) {
    std::string lines;
    for (int line = 0; line < 200; ++line) {
      for (int pixel = 0; pixel < 64; ++pixel) lines += std::to_string((line * 7 + pixel) % 17) + ",";
      lines += std::to_string(line % 10) + "\n";
    }
    w.write("my digits.csv", lines);
    w.write("held.toml",
            "model = { name = \"mlp\", in_features = 64, hidden = [8], out_features = 10 }\n"
            "dataset = { name = \"digits\", path = \"my digits.csv\" }\n"
            "device_pool = [\"cpu\", \"cpu\"]\nbatch_size = 8\nthreads = 1\nepochs = " +
                epochs + "\n");
  }

  std::map<std::string, std::string> cached() const { return {{"XDG_CACHE_HOME", (w.folder() / "cache").string()}}; }
  // One of two ranks, as a launcher starts it.
  std::unique_ptr<Process> launched(int rank, const std::string& port,
                                    const std::vector<std::string>& more = {}) const {
    auto environment = cached();
    environment.merge(std::map<std::string, std::string>{{"RANK", std::to_string(rank)},
                                                         {"LOCAL_RANK", std::to_string(rank)},
                                                         {"WORLD_SIZE", "2"},
                                                         {"LOCAL_WORLD_SIZE", "2"},
                                                         {"MASTER_ADDR", "127.0.0.1"},
                                                         {"MASTER_PORT", port}});
    std::vector<std::string> words{"run", "held.toml", "--run-id", "launched"};
    words.insert(words.end(), more.begin(), more.end());
    return w.start(words, environment);
  }
  std::vector<fs::path> in_cache() const {
    std::vector<fs::path> files;
    std::error_code none;
    for (const auto& entry : fs::directory_iterator(w.folder() / "cache/ddp-exp/held", none)) files.push_back(entry);
    return files;
  }

  const Workspace w;
};

// The mapped files of a process, by device and inode, whose path contains this word.
std::set<std::string> mapped(pid_t process, const std::string& word) {
  std::set<std::string> files;
  std::istringstream lines(text_of("/proc/" + std::to_string(process) + "/maps"));
  for (std::string line; std::getline(lines, line);) {
    std::istringstream words(line);
    std::string range, access, offset, device, inode, path;
    words >> range >> access >> offset >> device >> inode >> path;
    if (!contains(path, word)) continue;
    CHECK(access == "r--p");
    files.insert(device + " " + inode);
  }
  return files;
}

// Waits until both processes map the same file.
bool share(const std::vector<pid_t>& ranks, const std::string& word, pid_t parent) {
  return wait_until(
      [&] {
        const auto first = mapped(ranks.at(0), word);
        return first.size() == 1 && mapped(ranks.at(1), word) == first;
      },
      parent);
}

std::string a_port() { return std::to_string(20000 + getpid() % 20000); }

}  // namespace

TEST_CASE("a rank of a launcher that never comes is named with the timeout") {
  const HeldRun h("1");
  const auto alone = h.launched(0, a_port(), {"--set", "distributed.timeout=1"});
  const Outcome ended = h.w.finish(*alone);
  INFO(ended.err);
  CHECK(ended.code == 1);
  CHECK(contains(ended.err, "rank 1 of 2 did not come within 1 s (distributed.timeout)"));
}

TEST_CASE("forked ranks map one copy of the data, which nobody can write to and which has no file name") {
  const HeldRun held("1000000");
  const auto process = held.w.start({"run", "held.toml"}, held.cached());
  REQUIRE(process->wait_for_ranks(2));
  CHECK(share(process->ranks(), "memfd:ddp-exp-data", process->pid()));
  CHECK(held.in_cache().empty());
  process->signal(SIGTERM);
  CHECK(process->wait() == 143);
}

TEST_CASE("ranks started by a launcher map one file of the cache, and the last one removes it") {
  const HeldRun held("1000000");
  const std::string port = a_port();
  const auto first = held.launched(0, port);
  const auto second = held.launched(1, port);
  CHECK(share({first->pid(), second->pid()}, "/ddp-exp/held/", first->pid()));
  for (const auto* rank : {&first, &second}) (*rank)->signal(SIGTERM);
  CHECK(first->wait() == 143);
  CHECK(second->wait() == 143);
  CHECK(held.in_cache().empty());
}

TEST_CASE("data that killed ranks left in the cache is removed by the next ranks") {
  const HeldRun held("1000000");
  const std::string port = a_port();
  {
    const auto first = held.launched(0, port);
    const auto second = held.launched(1, port);
    REQUIRE(share({first->pid(), second->pid()}, "/ddp-exp/held/", first->pid()));
  }
  CHECK(held.in_cache().size() == 3);  // data, facts, lock
  held.w.write("my digits.csv",
               text_of(held.w.folder() / "my digits.csv") + text_of(held.w.folder() / "my digits.csv"));
  const auto first = held.launched(0, port);
  const auto second = held.launched(1, port);
  REQUIRE(share({first->pid(), second->pid()}, "/ddp-exp/held/", first->pid()));
  CHECK(held.in_cache().size() == 3);  // data, facts, lock
  for (const auto* rank : {&first, &second}) (*rank)->signal(SIGTERM);
  CHECK(first->wait() == 143);
  CHECK(second->wait() == 143);
  CHECK(held.in_cache().empty());
}

TEST_CASE("one copy of the data trains to the same bits as one copy per rank") {
  const HeldRun held("3");
  const Outcome shared = held.w.run({"run", "held.toml", "--name", "shared"}, held.cached());
  REQUIRE(shared.code == 0);
  // Without a cache folder each launched rank reads the file by itself.
  const std::string port = a_port();
  held.w.write("cache", "no folder");
  const auto first = held.launched(0, port);
  const auto second = held.launched(1, port);
  REQUIRE(first->wait() == 0);
  REQUIRE(second->wait() == 0);
  CHECK(RunFolder(held.w.results() / "held/launched").model() == shared.run.model());
}

TEST_CASE("trials of a sweep that train on the same data map one copy of it") {
  const HeldRun held("1000000");
  held.w.write("s.toml",
               text_of(held.w.folder() / "held.toml") + "[sweep.parameters]\n\"optimizer.lr\" = [0.1, 0.01]\n");
  const auto process = held.w.start({"sweep", "s.toml", "--jobs", "2"}, held.cached());
  std::set<std::string> copies;
  const auto all_map = [&] {
    int ranks = 0;
    copies.clear();
    for (const Member& member : process->members()) {
      const auto files = mapped(member.pid, "memfd:ddp-exp-data");
      copies.insert(files.begin(), files.end());
      ranks += files.empty() ? 0 : 1;
    }
    return ranks == 4;
  };
  CHECK(wait_until(all_map, process->pid()));
  CHECK(copies.size() == 1);
  process->signal(SIGTERM);
  CHECK(process->wait() == 143);
}

TEST_CASE("trials of a sweep with different data have their own copies") {
  const HeldRun held("1");
  held.w.write("s.toml", text_of(held.w.folder() / "held.toml") +
                             "[validation]\nsplit = 0.2\n[sweep]\nmetric = \"val_loss\"\n[sweep.parameters]\n"
                             "\"validation.seed\" = [1, 2]\n\"optimizer.lr\" = [0.1, 0.01]\n");
  const Outcome swept = held.w.run({"sweep", "s.toml", "--run-id", "one"}, held.cached());
  INFO(swept.err);
  REQUIRE(swept.code == 0);
  for (const auto& trial : fs::directory_iterator(held.w.results() / "s/one/trials")) {
    const Outcome alone = held.w.run({"run", trial.path() / "config.toml", "--name", "alone"}, held.cached());
    INFO(alone.err);
    REQUIRE(alone.code == 0);
    CHECK(alone.run.model() == RunFolder(trial.path()).model());
  }
}

}  // namespace ddp::system_test
