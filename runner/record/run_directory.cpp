#include "record/run_directory.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <algorithm>
#include <cerrno>
#include <ctime>
#include <optional>
#include <random>

#include "base/error.h"
#include "base/own_command.h"
#include "base/paths.h"
#include "config/text/source.h"
#include "record/file/atomic_file.h"
#include "record/run_names.h"

namespace ddp::record {
namespace fs = std::filesystem;
namespace {

// The ranks of a killed parent hold the lock until they have ended too, a moment later.
constexpr std::chrono::milliseconds kMoment{500};

std::string new_run_id() {
  const std::time_t now = std::time(nullptr);
  std::tm local{};
  localtime_r(&now, &local);
  char text[32];
  std::strftime(text, sizeof text, "%Y%m%d-%H%M%S-", &local);
  static constexpr char kDigits[] = "0123456789abcdefghijklmnopqrstuvwxyz";
  std::random_device entropy;
  std::string id = text;
  for (int i = 0; i < 4; ++i) id += kDigits[entropy() % (sizeof kDigits - 1)];
  return id;
}

bool is_there(const fs::path& file) {
  std::error_code too_long;
  return fs::exists(file, too_long);
}

bool is_run(const fs::path& folder) { return is_there(folder / "config.toml"); }

bool is_sweep_folder(const fs::path& folder) { return !is_run(folder) && is_there(folder / "sweep.toml"); }

// Returns the time at which the run or sweep in the folder began; nothing if the folder has neither.
std::optional<fs::file_time_type> begin_of(const fs::path& folder) {
  for (const char* file : {"config.toml", "sweep.toml"}) {
    std::error_code error;
    if (const auto time = fs::last_write_time(folder / file, error); !error) return time;
  }
  return {};
}

// Returns the run's own folder, not a link, which would move on with the next run, nor "." or a path that ends in '/'.
// The path is relative if it lies in the working directory: people read it.
fs::path own_folder(const fs::path& named) {
  const fs::path whole = paths::without_links(named);
  std::error_code gone;
  const fs::path here = fs::current_path(gone);
  if (gone) return whole;
  const fs::path relative = whole.lexically_proximate(here);
  return relative == "." || *relative.begin() == ".." ? whole : relative;
}

// Returns the newest run or sweep under the results folder: the target of the youngest `latest` link, or of a name
// without this link the newest run.
fs::path newest(const fs::path& results) {
  fs::path found;
  std::optional<fs::file_time_type> youngest;
  std::error_code ignored;
  for (fs::directory_iterator name(results, ignored), end; !ignored && name != end; name.increment(ignored)) {
    const fs::path link = name->path() / "latest";
    std::error_code no_link;
    fs::path run = name->path() / fs::read_symlink(link, no_link);
    auto began = begin_of(link);
    if (no_link) {
      // Results that were copied have new times: their summaries tell.
      const auto copied = newest_inside(name->path());
      if (!copied) continue;
      run = copied->folder;
      began = std::chrono::file_clock::from_sys(std::chrono::system_clock::from_time_t(copied->began));
    }
    if (began && (!youngest || *began > *youngest)) {
      found = run;
      youngest = began;
    }
  }
  return found;
}

// Returns the folder of a run or sweep, given its folder or its whole name.
std::optional<fs::path> find_exactly(const fs::path& results, const std::string& run) {
  const fs::path latest = results / run / "latest";
  for (const fs::path& candidate : {fs::path(run), results / run, latest}) {
    if (!is_run(candidate) && !is_sweep_folder(candidate)) continue;
    std::error_code none;
    const fs::path folder = (candidate / "").parent_path();
    const bool of_name = candidate == latest && !fs::is_symlink(latest, none);
    const auto newest = of_name || is_copied_link(folder) ? newest_inside(folder.parent_path()) : std::nullopt;
    return newest ? newest->folder : candidate;
  }
  return {};
}

// Returns the folder of the trial SWEEP/007 or RACE/A-7. SWEEP is a whole name or a part of an id.
std::optional<fs::path> find_trial(const fs::path& results, const std::string& run) {
  const std::size_t slash = run.rfind('/');
  if (slash == std::string::npos || slash + 1 == run.size()) return {};
  const std::string number = run.substr(slash + 1);
  const std::string named = run.substr(0, slash);
  auto sweep = find_exactly(results, named);
  if (!sweep) sweep = folder_by_part(results, named);
  if (!sweep) sweep = find_trial(results, named);
  return sweep && is_sweep_folder(*sweep) ? folder_of_trial(*sweep, number) : std::nullopt;
}

}  // namespace

void RunDirectory::require_run_id(const std::string& run_id) {
  if (is_safe_name(run_id) && run_id != "latest") return;
  throw usage_error(config::in_quotes(run_id) + " cannot be a run id", "--run-id",
                    "use up to 128 ASCII letters, digits, '.', '_' and '-', no '.' first, and not 'latest'");
}

RunDirectory RunDirectory::create(const fs::path& results, const std::string& name, std::string run_id) {
  RunDirectory made = create_folder(results, name, std::move(run_id));
  made.make_for_run();
  return made;
}

void RunDirectory::make_for_run() {
  make_folder(checkpoints());
  make_folder(log(0).parent_path());
}

RunDirectory RunDirectory::create_sweep(const fs::path& results, const std::string& name, std::string run_id,
                                        const char* trials) {
  RunDirectory made = create_folder(results, name, std::move(run_id));
  made.make_for_sweep(trials);
  return made;
}

void RunDirectory::make_for_sweep(const char* trials) { make_folder(path_ / trials); }

RunDirectory RunDirectory::create_folder(const fs::path& results, const std::string& name, std::string run_id) {
  const bool given = !run_id.empty();
  if (given) require_run_id(run_id);
  RunDirectory made(results / name);
  made.make_folder(made.path_);
  for (;;) {
    if (!given) run_id = new_run_id();
    made.path_ = results / name / run_id;
    // A given id may already have a folder, left by a run that was killed before it wrote its first file.
    if (made.make_folder(made.path_) || (given && !made.begun() && !made.is_sweep())) break;
    if (given) {
      throw usage_error("this run exists", made.path_.string(),
                        "resume it: " + own_command("resume " + path_word(made.path_)));
    }
  }
  return made;
}

fs::path RunDirectory::trials() const {
  const fs::path folder = path();
  return folder / (is_there(folder / kRuns) ? kRuns : kTrials);
}

RunDirectory RunDirectory::trial(int number, const std::string& name) const {
  if (!name.empty()) return RunDirectory(trials() / name);
  const std::string digits = std::to_string(number);
  return RunDirectory(trials() / (std::string(digits.size() < 3 ? 3 - digits.size() : 0, '0') + digits));
}

bool RunDirectory::make_folder(const fs::path& folder) {
  std::error_code unreadable;
  if (fs::is_directory(folder, unreadable)) return false;
  if (folder.has_parent_path() && fs::status(folder.parent_path(), unreadable).type() == fs::file_type::not_found) {
    make_folder(folder.parent_path());
  }
  std::error_code error;
  const bool is_new = fs::create_directory(folder, error);
  if (is_new) made_.push_back(folder);
  if (!error) return is_new;
  remove_what_was_made();
  paths::refuse_dangling_link(folder);
  throw usage_error("cannot make the folder: " + error.message(), folder.string(), remedy_for_write(error.value()));
}

void RunDirectory::remove_what_was_made() const {
  std::error_code not_empty;
  for (auto folder = made_.rbegin(); folder != made_.rend(); ++folder) fs::remove(*folder, not_empty);
}

void RunDirectory::discard() const {
  std::error_code ignored;
  for (const fs::path& file : {config(), sweep(), summary(), tags(), metrics()}) fs::remove(file, ignored);
  for (const fs::path& folder : {sources(), graphs(), checkpoints()}) fs::remove_all(folder, ignored);
  for (const fs::path& folder : {trials(), log(0).parent_path(), path_}) fs::remove(folder, ignored);
  remove_what_was_made();
}

void RunDirectory::keep_open() {
  open_ = std::make_shared<const FileDescriptor>(open(path_.c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC));
}

fs::path RunDirectory::path() const {
  struct stat named {
  }, kept{};
  if (!open_ || fstat(open_->get(), &kept) != 0) return path_;
  if (stat(path_.c_str(), &named) == 0 && named.st_dev == kept.st_dev && named.st_ino == kept.st_ino) return path_;
  std::error_code gone;
  const fs::path moved = fs::read_symlink("/proc/self/fd/" + std::to_string(open_->get()), gone);
  return !gone && fs::is_directory(moved, gone) ? own_folder(moved) : path_;
}

bool RunDirectory::is_trial() const { return is_sweep_folder(path().parent_path().parent_path()); }

fs::path RunDirectory::results() const {
  const RunDirectory holder(path().parent_path().parent_path());
  return is_trial() ? holder.results() : holder.path();
}

void RunDirectory::begin(const fs::path& file, const std::function<std::string()>& write) const {
  const bool is_new = !is_there(file);
  const fs::path latest = path().parent_path() / "latest";
  try {
    write_atomically(file, write());
    std::error_code none;
    // A folder `latest` may itself be a run, which was copied alone.
    if (!is_trial() && path() != latest && (is_new || !fs::is_symlink(latest, none))) {
      const auto newest = is_new ? std::nullopt : newest_inside(path().parent_path());
      link_atomically(latest, (newest ? newest->folder : path()).filename().string(),
                      is_copied_link(latest) ? kCopyOfLatest : "latest-copy");
    }
  } catch (const Error& error) {
    if (!is_new) throw;
    discard();
    throw usage_error(error.summary(), error.where(), error.remedy());
  }
}

RunDirectory RunDirectory::find(const fs::path& results, const std::string& run) {
  if (run == "latest") {
    if (fs::path found = newest(results); !found.empty()) return RunDirectory(own_folder(found));
    throw usage_error("no runs yet; " + no_runs_in_words(results), results.string(),
                      "start one: " + own_command("run FILE") + "; --results FOLDER names the folder of other results");
  }
  if (const auto found = find_exactly(results, run)) return RunDirectory(own_folder(*found));
  if (const auto found = find_trial(results, run)) return RunDirectory(own_folder(*found));
  if (const auto found = folder_by_part(results, run)) return RunDirectory(own_folder(*found));
  throw unknown_run(results, run);
}

bool RunDirectory::begun() const { return is_run(path()); }

bool RunDirectory::is_sweep() const { return is_sweep_folder(path()); }

void RunDirectory::require_run() const {
  if (!is_sweep()) return;
  throw usage_error("this is a sweep, not a run", path().string(),
                    "name one of its trials: " + path_word(trial(0).path()));
}

bool RunDirectory::is_locked() const {
  const FileDescriptor folder(open(path().c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  // A writer that tries to lock at this moment retries for longer than this lock is held.
  return folder && flock(folder.get(), LOCK_EX | LOCK_NB) != 0 && errno == EWOULDBLOCK;
}

FileDescriptor RunDirectory::lock() const { return lock(LOCK_EX, kMoment); }

FileDescriptor RunDirectory::lock_shared(std::chrono::milliseconds patience, const std::function<void()>& waits) const {
  try {
    return lock(LOCK_SH, std::min(patience, kMoment));
  } catch (const Error&) {
    if (patience <= kMoment) throw;
  }
  if (is_locked()) waits();
  return lock(LOCK_SH, patience - kMoment);
}

FileDescriptor RunDirectory::lock(int how, std::chrono::milliseconds patience) const {
  FileDescriptor lock(open(path().c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (!lock) throw usage_error("cannot lock the run: " + errno_text(errno), path().string());
  constexpr std::chrono::milliseconds kPause{10};
  const timespec pause{.tv_sec = 0, .tv_nsec = std::chrono::nanoseconds(kPause).count()};
  std::int64_t attempts = patience / kPause;
  while (flock(lock.get(), how | LOCK_NB) != 0) {
    if (--attempts > 0 && errno == EWOULDBLOCK) {
      nanosleep(&pause, nullptr);
      continue;
    }
    throw usage_error("another process is writing this run", path().string(), "wait for it, or stop it first");
  }
  return lock;
}

}  // namespace ddp::record
