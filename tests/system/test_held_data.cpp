#include <unistd.h>
#include <set>
#include <sstream>

#include "catch.h"
#include "tables.h"

namespace ddp::system_test {
namespace fs = std::filesystem;
namespace {

// Trains on a user's file, with its own cache folder.
struct HeldRun : Workspace {
  explicit HeldRun(const std::string& epochs) : Workspace("my digits.csv", digits_csv(200)) {
    environment_["XDG_CACHE_HOME"] = folder() / "cache";
    write("held.toml",
          "model = { name = \"mlp\", in_features = 64, hidden = [8], out_features = 10 }\n"
          "dataset = { name = \"digits\", path = \"my digits.csv\" }\n"
          "device_pool = [\"cpu\", \"cpu\"]\nbatch_size = 8\nthreads = 1\nepochs = " +
              epochs + "\n");
  }

  // One of two ranks, as a launcher starts it.
  std::unique_ptr<Process> launched(int rank, const std::string& port, const Words& more = {}) const {
    const std::string number = std::to_string(rank);
    return start(joined({"run", "held.toml", "--run-id", "launched"}, more), {{"RANK", number},
                                                                              {"LOCAL_RANK", number},
                                                                              {"WORLD_SIZE", "2"},
                                                                              {"LOCAL_WORLD_SIZE", "2"},
                                                                              {"MASTER_ADDR", "127.0.0.1"},
                                                                              {"MASTER_PORT", port}});
  }
  // Stops both ranks, which must remove all data from the cache.
  void stop_both(const std::unique_ptr<Process>& first, const std::unique_ptr<Process>& second) const {
    for (const auto* rank : {&first, &second}) (*rank)->signal(SIGTERM);
    CHECK(first->wait() == 143);
    CHECK(second->wait() == 143);
    CHECK(in_cache().empty());
  }

  std::vector<fs::path> in_cache() const {
    std::vector<fs::path> files;
    std::error_code none;
    for (const auto& entry : fs::directory_iterator(folder() / "cache/ddp-exp/held", none)) files.push_back(entry);
    return files;
  }
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
  h.ends(1, *alone, {"rank 1 of 2 did not come within 1 s (distributed.timeout)"});
}

TEST_CASE("forked ranks map one copy of the data, which nobody can write to and which has no file name") {
  const HeldRun held("1000000");
  const auto process = held.start({"run", "held.toml"});
  REQUIRE(process->wait_for_ranks(2));
  CHECK(share(process->ranks(), "memfd:ddp-exp-data", process->pid()));
  CHECK(held.in_cache().empty());
  held.stop(*process);
}

TEST_CASE("ranks started by a launcher map one file of the cache, and the last one removes it") {
  const HeldRun held("1000000");
  const std::string port = a_port();
  const auto first = held.launched(0, port);
  const auto second = held.launched(1, port);
  CHECK(share({first->pid(), second->pid()}, "/ddp-exp/held/", first->pid()));
  held.stop_both(first, second);
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
  held.write("my digits.csv", text_of(held.folder() / "my digits.csv") + text_of(held.folder() / "my digits.csv"));
  const auto first = held.launched(0, port);
  const auto second = held.launched(1, port);
  REQUIRE(share({first->pid(), second->pid()}, "/ddp-exp/held/", first->pid()));
  CHECK(held.in_cache().size() == 3);  // data, facts, lock
  held.stop_both(first, second);
}

TEST_CASE("one copy of the data trains to the same bits as one copy per rank") {
  const HeldRun held("3");
  const Outcome shared = held.done({"run", "held.toml", "--name", "shared"});
  // Without a cache folder each launched rank reads the file by itself.
  const std::string port = a_port();
  held.write("cache", "no folder");
  const auto first = held.launched(0, port);
  const auto second = held.launched(1, port);
  REQUIRE(first->wait() == 0);
  REQUIRE(second->wait() == 0);
  CHECK(RunFolder(held.results() / "held/launched").model() == shared.run.model());
}

TEST_CASE("trials of a sweep that train on the same data map one copy of it") {
  const HeldRun held("1000000");
  held.write("s.toml", text_of(held.folder() / "held.toml") + "[sweep.parameters]\n\"optimizer.lr\" = [0.1, 0.01]\n");
  const auto process = held.start({"sweep", "s.toml", "--jobs", "2"});
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
  held.stop(*process);
}

TEST_CASE("trials of a sweep with different data have their own copies") {
  const HeldRun held("1");
  held.write("s.toml", text_of(held.folder() / "held.toml") +
                           "[validation]\nsplit = 0.2\n[sweep]\nmetric = \"val_loss\"\n[sweep.parameters]\n"
                           "\"validation.seed\" = [1, 2]\n\"optimizer.lr\" = [0.1, 0.01]\n");
  held.done({"sweep", "s.toml", "--run-id", "one"});
  for (const auto& trial : fs::directory_iterator(held.results() / "s/one/trials")) {
    const Outcome alone = held.done({"run", trial.path() / "config.toml", "--name", "alone"});
    CHECK(alone.run.model() == RunFolder(trial.path()).model());
  }
}

}  // namespace ddp::system_test
