#include <algorithm>
#include <fstream>
#include <iterator>
#include <set>
#include <sstream>

#include "catch.h"
#include "workspace.h"

namespace ddp::system_test {
namespace fs = std::filesystem;
namespace {

// The sockets of these processes, by inode.
std::set<std::string> sockets_of(const std::vector<Member>& members) {
  std::set<std::string> inodes;
  std::error_code ignored;
  for (const auto& member : members) {
    for (const auto& entry : fs::directory_iterator("/proc/" + std::to_string(member.pid) + "/fd", ignored)) {
      const std::string target = fs::read_symlink(entry.path(), ignored).string();
      if (target.starts_with("socket:[")) inodes.insert(target.substr(8, target.size() - 9));
    }
  }
  return inodes;
}

// The local addresses (hexadecimal) on which one of these sockets listens.
Words listening(const std::set<std::string>& inodes) {
  Words addresses;
  for (const char* table : {"/proc/net/tcp", "/proc/net/tcp6"}) {
    std::ifstream in(table);
    std::string line;
    std::getline(in, line);
    while (std::getline(in, line)) {
      std::istringstream fields(line);
      Words field;
      for (std::string text; fields >> text;) field.push_back(text);
      if (field.size() > 9 && field[3] == "0A" && inodes.contains(field[9])) {
        addresses.push_back(field[1].substr(0, field[1].find(':')));
      }
    }
  }
  return addresses;
}

bool is_loopback(const std::string& address) {
  return address == "0100007F" || address == "00000000000000000000000001000000" ||
         address == "0000000000000000FFFF00000100007F";
}

// The entries of the folders that all programs share, without the workspaces of other tests.
std::set<std::string> shared_places() {
  std::set<std::string> names;
  std::error_code ignored;
  for (const char* place : {"/tmp", "/dev/shm", "/var/tmp"}) {
    for (const auto& entry : fs::directory_iterator(place, ignored)) {
      if (!entry.path().filename().string().starts_with(kWorkspacePrefix)) names.insert(entry.path().string());
    }
  }
  return names;
}

Words difference(const std::set<std::string>& more, const std::set<std::string>& less) {
  Words names;
  std::set_difference(more.begin(), more.end(), less.begin(), less.end(), std::back_inserter(names));
  return names;
}

// The addresses on which a run over this backend listened until its first steps were done.
std::set<std::string> listened(const std::string& backend) {
  const Workspace w("small.toml", kSmall);
  const auto process = w.start({"run", "small.toml", "--set", "epochs=1000000", "--set", "backend=" + backend});
  std::set<std::string> seen;
  // From the start on: the first sockets may be gone later.
  const auto watch = [&] {
    for (const auto& address : listening(sockets_of(process->members()))) seen.insert(address);
    return fs::exists(w.results() / "small/latest") && RunFolder(w.results() / "small/latest").last_step() > 0;
  };
  REQUIRE(wait_until(watch, process->pid()));
  return seen;
}

}  // namespace

TEST_CASE("a run over Gloo listens only on loopback") {
  const auto seen = listened("gloo");
  CHECK_FALSE(seen.empty());
  for (const auto& address : seen) {
    INFO(address);
    CHECK(is_loopback(address));
  }
}

TEST_CASE("a run over shared memory listens nowhere") { CHECK(listened("shm").empty()); }

TEST_CASE("a run leaves nothing in temporary folders or shared memory") {
  const Workspace w("small.toml", kSmall);
  fs::create_directory(w.folder() / "tmp");
  // Other programs use these folders too. A run that left a file would do so on each attempt, and the file would stay.
  Words left{"(no attempt)"};
  for (int attempt = 0; attempt < 5 && !left.empty(); ++attempt) {
    const auto before = shared_places();
    w.done({"run", "small.toml"}, {}, {{"TMPDIR", (w.folder() / "tmp").string()}});
    left = difference(shared_places(), before);
  }
  CHECK(wait_until([&] {
    std::erase_if(left, [](const std::string& name) { return !fs::exists(fs::symlink_status(name)); });
    return left.empty();
  }));
  CHECK(left.empty());
  CHECK(fs::is_empty(w.folder() / "tmp"));
}

TEST_CASE("concurrent runs of one experiment do not collide") {
  const Workspace w("small.toml", kSmall);
  std::vector<std::unique_ptr<Process>> processes;
  for (int i = 0; i < 6; ++i) processes.push_back(w.start({"run", "small.toml"}));
  std::set<std::string> directories;
  std::set<std::string> models;
  for (const auto& process : processes) {
    const Outcome run = w.ends(0, *process);
    CHECK(run.run.has_each_step_once(28));
    directories.insert(run.out);
    models.insert(run.run.model());
  }
  CHECK(directories.size() == 6);
  CHECK(models.size() == 1);
  CHECK(directories.contains("results/small/" + fs::read_symlink(w.results() / "small/latest").string() + "\n"));
}

TEST_CASE("no process of a training run is a zombie") {
  const Workspace w("small.toml", kSmall);
  const auto process = w.start({"run", "small.toml", "--set", "epochs=1000000"});
  w.running(*process, "small", 20);
  CHECK(wait_until(
      [&] {
        std::size_t zombies = 0;
        for (const auto& member : process->members()) zombies += member.state == 'Z';
        return zombies == 0;
      },
      process->pid()));
}

}  // namespace ddp::system_test
