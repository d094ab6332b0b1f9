#pragma once

#include <chrono>
#include <filesystem>
#include <functional>
#include <string>
#include <vector>

#include "base/file_descriptor.h"

namespace ddp::record {

// The folder of the user's own C++ files in that of a run, or sweep.
inline constexpr const char* kSourcesFolder = "sources";

// Where a run keeps what it leaves: results/<name>/<run-id>/{config.toml, metrics.jsonl, summary.json,
// sources/, checkpoints/, logs/, tensorboard/}; or a sweep: {sweep.toml, journal.jsonl, summary.json, sources/,
// trials/<number>/}.
class RunDirectory {
 public:
  explicit RunDirectory(std::filesystem::path path) : path_(std::move(path)) {}

  // Throws ddp::Error (usage) where the id cannot be one: it must not leave the results root.
  static void require_run_id(const std::string& run_id);

  // Makes results/<name>/<run-id>/ for this run, or sweep, alone. An empty id gets a new one, YYYYmmdd-HHMMSS-xxxx.
  // Throws ddp::Error (usage) where it cannot be made, and leaves nothing.
  static RunDirectory create(const std::filesystem::path& results, const std::string& name, std::string run_id);
  static RunDirectory create_sweep(const std::filesystem::path& results, const std::string& name, std::string run_id);

  // That of a trial of the sweep in `sweep`: results/<name>/<sweep>/trials/<number>/. Makes it where it is not there.
  // Throws ddp::Error (usage).
  static RunDirectory trial(const std::filesystem::path& sweep, int number);

  // Its folder in the sweep's: "trials/003".
  static std::filesystem::path trial_folder(int number);

  // Has `write` write what a run has from its begin, and writes the text that it returns as config.toml, last. If that
  // begins the run, points results/<name>/latest at it (but at no trial), or throws ddp::Error (usage) and discards it.
  void begin(const std::function<std::string()>& write) const { begin(config(), write); }
  // The same of a sweep, whose file is sweep.toml.
  void begin_sweep(const std::function<std::string()>& write) const { begin(sweep(), write); }

  // Removes what a run, or sweep, that has not begun has, and the folders above that create() made, but for those with
  // something else in them.
  void discard() const;

  // Finds RUN as a user names it: a run directory, "name", "name/run-id", "name/sweep-id/003" (a trial) or "latest"
  // under the results root, or else a unique part of an id, of at least four characters. It may be a sweep, which has
  // sweep.toml in place of config.toml. Throws ddp::Error (usage) where there is none, or several have that part.
  static RunDirectory find(const std::filesystem::path& results, const std::string& run);

  // An exclusive lock that lasts until the descriptor and its copies in the ranks are closed. Throws
  // ddp::Error (usage) where another process holds it.
  FileDescriptor lock() const;
  // One that several processes may have at a time: those that train the trials of one sweep. Waits so long for one that
  // has it alone.
  FileDescriptor lock_shared(std::chrono::milliseconds patience) const;
  // Does a process hold it?
  bool is_locked() const;

  const std::filesystem::path& path() const { return path_; }
  // Has the run begun: is its config.toml there?
  bool begun() const;
  // Is it a sweep's?
  bool is_sweep() const;
  // Is it the run of a sweep's trial?
  bool is_trial() const;
  // Throws ddp::Error (usage) where it is a sweep, for a command that takes a run.
  void require_run() const;

  std::filesystem::path config() const { return path_ / "config.toml"; }
  std::filesystem::path sweep() const { return path_ / "sweep.toml"; }
  std::filesystem::path trials() const { return path_ / "trials"; }
  std::filesystem::path journal() const { return path_ / "journal.jsonl"; }
  std::filesystem::path metrics() const { return path_ / "metrics.jsonl"; }
  std::filesystem::path summary() const { return path_ / "summary.json"; }
  // Of runs that measure matrices, the last ones (metrics/matrices).
  std::filesystem::path matrices() const { return path_ / "matrices.json"; }
  // The samples that did not decode and were left out, a line each.
  std::filesystem::path bad_files() const { return path_ / "bad_files.txt"; }
  std::filesystem::path sources() const { return path_ / kSourcesFolder; }
  std::filesystem::path checkpoints() const { return path_ / "checkpoints"; }
  std::filesystem::path tensorboard() const { return path_ / "tensorboard"; }
  std::filesystem::path log(int rank) const { return path_ / "logs" / ("rank-" + std::to_string(rank) + ".log"); }

 private:
  static RunDirectory create_folder(const std::filesystem::path& results, const std::string& name, std::string run_id);
  void begin(const std::filesystem::path& file, const std::function<std::string()>& write) const;
  FileDescriptor lock(int how, std::chrono::milliseconds patience) const;
  // Makes a folder and those above it. False: it was there.
  bool make_folder(const std::filesystem::path& folder);
  void remove_what_was_made() const;

  std::filesystem::path path_;
  std::vector<std::filesystem::path> made_;  // by create(), the outermost first
};

}  // namespace ddp::record
