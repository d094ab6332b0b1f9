#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <string>
#include <vector>

namespace CLI {
class App;
}

namespace ddp::commands {

// What rm and gc share.
struct RemovalOptions {
  std::string results = "results";
  bool dry_run = false;
  bool yes = false;
};
void add_removal_options(CLI::App& verb, RemovalOptions& options);

// The files and folders of runs that other runs and sweeps name, each with who names it: the checkpoint from which a
// run was forked, and weights that a run or a sweep begins with.
class References {
 public:
  explicit References(const std::filesystem::path& results);

  // Returns a run or sweep outside of `going` that names something in this folder; "": none.
  std::string user_of(const std::filesystem::path& folder, const std::vector<std::filesystem::path>& going = {}) const;

 private:
  void add(const std::filesystem::path& named, const std::filesystem::path& by);
  void read(const std::filesystem::path& run, const std::filesystem::path& results);

  std::multimap<std::filesystem::path, std::filesystem::path> users_;  // named path: folder of who names it
};

// Folders that are to go: runs and sweeps, or old checkpoints.
struct Doomed {
  std::filesystem::path folder;
  std::string what;  // name and status
  std::int64_t bytes = 0;
};

// Prints what goes and how much that is, asks on a terminal, and removes it: a run or sweep only while no process
// writes it. Throws ddp::Error (usage) if nobody can be asked, or if one of them is written meanwhile.
void remove(const std::vector<Doomed>& doomed, const std::string& noun, const RemovalOptions& options);

}  // namespace ddp::commands
