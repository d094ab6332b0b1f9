#pragma once

#include <chrono>
#include <filesystem>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "base/file_descriptor.h"

namespace ddp::record {

// The folder of the user's C++ files in the folder of a run or sweep.
inline constexpr const char* kSourcesFolder = "sources";

// The folder of a run: results/<name>/<run-id>/{config.toml, metrics.jsonl, summary.json, tags.json, sources/, model/,
// checkpoints/, logs/, tensorboard/}; or of a sweep: {sweep.toml, journal.jsonl, summary.json, tags.json, sources/,
// trials/<number>/}; or of a cross-validation, which is a sweep whose trials lie in runs/<number>/. A trial may itself
// be a cross-validation. What is said of a sweep and its trials here holds for a cross-validation and its runs, too.
class RunDirectory {
 public:
  explicit RunDirectory(std::filesystem::path path) : path_(std::move(path)) {}

  // Throws ddp::Error (usage) if the id is invalid: it must not lead out of the results folder.
  static void require_run_id(const std::string& run_id);

  // Makes results/<name>/<run-id>/ for one new run or sweep. An empty id gets a new one, YYYYmmdd-HHMMSS-xxxx. If it
  // fails, it throws ddp::Error (usage) and leaves nothing behind.
  static RunDirectory create(const std::filesystem::path& results, const std::string& name, std::string run_id);
  // `trials`: the name of the folder of its trials, kTrials or kRuns.
  static RunDirectory create_sweep(const std::filesystem::path& results, const std::string& name, std::string run_id,
                                   const char* trials);
  static constexpr const char* kTrials = "trials";
  static constexpr const char* kRuns = "runs";

  // The folder of a trial of this sweep: its number, or its own name ("A-7" of a race).
  RunDirectory trial(int number, const std::string& name = "") const;
  // Make the folder and its folders if they are missing. Throw ddp::Error (usage).
  void make_for_run();
  void make_for_sweep(const char* trials);

  // Calls `write`, which writes a run's first files, and then writes the text that it returns as config.toml. If
  // config.toml is new, points results/<name>/latest at the run (but never at a trial). If that fails for a new run,
  // discards the run and throws ddp::Error (usage).
  void begin(const std::function<std::string()>& write) const { begin(config(), write); }
  // The same for a sweep, whose file is sweep.toml.
  void begin_sweep(const std::function<std::string()>& write) const { begin(sweep(), write); }

  // Removes the files of a run or sweep that has not begun, and the parent folders that create() made if they are
  // empty.
  void discard() const;

  // Finds RUN as a user names it: a run directory; "name", "name/run-id", "name/sweep-id/003" (a trial) or "latest"
  // under the results folder; or a unique part of an id of at least four characters. The result may be a sweep, which
  // has sweep.toml in place of config.toml. Throws ddp::Error (usage) if nothing matches, or several ids have that
  // part.
  static RunDirectory find(const std::filesystem::path& results, const std::string& run);

  // Takes an exclusive lock. It lasts until the descriptor and its copies in the ranks are closed. Throws ddp::Error
  // (usage) if another process holds it.
  FileDescriptor lock() const;
  // Takes a shared lock, which several processes may hold at a time: they train the trials of one sweep. Waits up to
  // `patience` for a process that holds the exclusive lock; calls `waits` once if it does not end in a moment.
  FileDescriptor lock_shared(std::chrono::milliseconds patience, const std::function<void()>& waits) const;
  // Does a process hold a lock?
  bool is_locked() const;

  // Keeps the folder open: path() is then where it lies, also after it was renamed. Copies of this object share it.
  void keep_open();
  std::filesystem::path path() const;
  // Has the run begun, that is, does config.toml exist?
  bool begun() const;
  // Is it the folder of a sweep?
  bool is_sweep() const;
  // Is it the folder of a sweep's trial?
  bool is_trial() const;
  // The results folder that it lies in.
  std::filesystem::path results() const;
  // Throws ddp::Error (usage) if the folder is a sweep's, for a command that takes a run.
  void require_run() const;

  std::filesystem::path config() const { return path() / "config.toml"; }
  std::filesystem::path sweep() const { return path() / "sweep.toml"; }
  // Of a sweep; of a cross-validation "runs".
  std::filesystem::path trials() const;
  std::filesystem::path journal() const { return path() / "journal.jsonl"; }
  std::filesystem::path metrics() const { return path() / "metrics.jsonl"; }
  std::filesystem::path summary() const { return path() / "summary.json"; }
  std::filesystem::path tags() const { return path() / "tags.json"; }
  // The curves and errors of the best checkpoint; a run that goes on trains without it (record/saves/retention.h).
  std::filesystem::path evaluation() const { return path() / "evaluation.json"; }
  // The last measured matrices, if the run measures any (record/summary.h).
  std::filesystem::path matrices() const { return path() / "matrices.json"; }
  // The samples that were left out because they did not decode, one per line.
  std::filesystem::path bad_files() const { return path() / "bad_files.txt"; }
  std::filesystem::path sources() const { return path() / kSourcesFolder; }
  std::filesystem::path graphs() const { return path() / "model"; }
  std::filesystem::path checkpoints() const { return path() / "checkpoints"; }
  std::filesystem::path tensorboard() const { return path() / "tensorboard"; }
  std::filesystem::path profile() const { return path() / "profile"; }
  std::filesystem::path log(int rank) const { return path() / "logs" / ("rank-" + std::to_string(rank) + ".log"); }

 private:
  static RunDirectory create_folder(const std::filesystem::path& results, const std::string& name, std::string run_id);
  void begin(const std::filesystem::path& file, const std::function<std::string()>& write) const;
  FileDescriptor lock(int how, std::chrono::milliseconds patience) const;
  // Makes a folder and its missing parents. Returns false if it exists already.
  bool make_folder(const std::filesystem::path& folder);
  void remove_what_was_made() const;

  std::filesystem::path path_;
  std::shared_ptr<const FileDescriptor> open_;
  std::vector<std::filesystem::path> made_;  // made by create(), the outermost first
};

}  // namespace ddp::record
