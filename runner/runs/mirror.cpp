#include "runs/mirror.h"

#include <fcntl.h>
#include <sys/signalfd.h>
#include <unistd.h>
#include <algorithm>
#include <csignal>
#include <functional>
#include <map>
#include <memory>
#include <set>
#include <vector>

#include "base/error.h"
#include "base/file_descriptor.h"
#include "base/log.h"
#include "base/own_command.h"
#include "base/paths.h"
#include "base/url.h"
#include "format/object_store.h"
#include "launch/library/rank_library.h"
#include "launch/process/stop_signals.h"
#include "launch/start/objects.h"
#include "record/file/atomic_file.h"
#include "record/file/input_file.h"
#include "record/liveness.h"
#include "record/saves/checkpoint_index.h"
#include "record/summary.h"

namespace ddp::runs {
namespace fs = std::filesystem;
namespace {

constexpr const char* kPart = ".tmp";  // ends the name of a file that is being written

// A folder with the functions of a store. Its URLs are paths.
class FolderStore final : public format::ObjectStore {
 public:
  std::vector<config::Object> find(const std::string& path) override {
    config::Object file;
    file.url = path;
    file.bytes = static_cast<std::int64_t>(record::InputFile(path).size());
    return {file};
  }

  void read(const config::Object& file, std::int64_t begin, std::int64_t size, const Take& take) override {
    std::string bytes(static_cast<std::size_t>(size), '\0');
    record::InputFile(file.url).read(static_cast<std::uint64_t>(begin), bytes.data(), bytes.size());
    take(bytes.data(), bytes.size());
  }

  std::int64_t retries() const override { return 0; }
  void hurry_when(std::function<bool()>) override {}

  void write(const std::string& path, std::int64_t size, const Give& give) override {
    const fs::path part = path + kPart;
    paths::make_folders(part.parent_path());
    const FileDescriptor out(open(part.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644));
    if (!out) throw training_error("cannot be written: " + errno_text(errno), path, remedy_for_write(errno));
    std::vector<char> piece(1 << 20);
    for (std::int64_t done = 0; done < size; done += std::ssize(piece)) {
      piece.resize(static_cast<std::size_t>(std::min(std::ssize(piece), size - done)));
      give(done, piece.data(), piece.size());
      write_all(out.get(), piece.data(), piece.size(), path);
    }
    if (fsync(out.get()) != 0) throw training_error("cannot be written: " + errno_text(errno), path);
    paths::rename(part, path);
    record::sync_folder(part.parent_path());
  }

  Sizes list(const std::string& folder) override {
    Sizes found;
    std::error_code error;
    for (fs::recursive_directory_iterator entry(folder, error), end; !error && entry != end; entry.increment(error)) {
      std::error_code gone;
      if (!entry->is_regular_file(gone)) continue;
      found[entry->path().lexically_relative(folder)] = static_cast<std::int64_t>(entry->file_size(gone));
    }
    return found;
  }

  void remove(const std::string& path) override {
    paths::remove_all(path);
    std::error_code has_more;
    fs::remove(fs::path(path).parent_path(), has_more);
  }
};

using OpenFiles = std::map<std::string, record::InputFile>;

// Opens the files of a checkpoint, which can then be read to their ends, even if it is removed meanwhile. None: it has
// been removed.
OpenFiles files_of_checkpoint(const fs::path& folder) {
  OpenFiles files;
  const FileDescriptor held(open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  const fs::path own = "/proc/self/fd/" + std::to_string(held.get());
  std::error_code gone;
  try {
    for (const fs::path& file : paths::entries(own)) {
      if (file.extension() != kPart) files.try_emplace(file.filename(), file);
    }
  } catch (const Error&) {
    if (fs::equivalent(own, folder, gone)) throw;
  }
  // A checkpoint loses its name before its files.
  if (!fs::equivalent(own, folder, gone)) files.clear();
  return files;
}

std::vector<fs::path> complete_up_to_latest(const record::RunDirectory& run) {
  std::vector<fs::path> saved = record::up_to_latest(run.checkpoints());
  std::erase_if(saved, [](const fs::path& folder) { return !record::is_complete(folder); });
  return saved;
}

// Brings a copy up to date with its run.
class Copying {
 public:
  Copying(const record::RunDirectory& run, std::string place, format::ObjectStore& store)
      : run_(run), place_(std::move(place)), store_(store) {}

  // Throws ddp::Error (training) if another run is there, which began at another time.
  void require_own();
  void copy();
  // The newest complete checkpoint there; "": none is known.
  std::string newest() const { return newest_complete(there_); }

 private:
  void copy_files();
  void copy_checkpoint(const fs::path& folder);
  void write(const std::string& name, const record::InputFile& file);
  std::string read(const std::string& name);
  void remove(const std::string& name);
  // Removes the checkpoints there for whose names this holds.
  void remove_checkpoints(const std::function<bool(const std::string& name)>& is_old);
  bool has(const std::string& name, const record::InputFile& file) const {
    const auto found = there_.find(name);
    return found != there_.end() && found->second == static_cast<std::int64_t>(file.size());
  }

  const record::RunDirectory& run_;
  const std::string place_;
  format::ObjectStore& store_;
  Sizes there_ = {};
};

void Copying::require_own() {
  const std::string summary = run_.summary().filename();
  if (!store_.list(place_).contains(summary)) return;
  const auto theirs = config::Value::parse(read(summary), nullptr, /*allow_exceptions=*/false);
  const config::Value began = theirs.is_object() ? theirs.value("started", config::Value()) : config::Value();
  if (began.is_null() || began == record::last_summary(run_).value("started", config::Value())) return;
  throw training_error("another run is there, which began at " + began.dump(), without_query(place_));
}

void Copying::copy() {
  there_ = store_.list(place_);
  const std::vector<fs::path> saved = complete_up_to_latest(run_);
  if (saved.empty()) return copy_files();
  const std::string last = saved.front().filename();
  // The run went back and gave these up: a machine that takes over must not go on from them.
  remove_checkpoints([&](const std::string& name) { return record::step_of(name) > record::step_of(last); });
  copy_files();
  for (const fs::path& folder : saved) copy_checkpoint(folder);
  if (newest() != last) return;
  std::set<std::string> stay{last};  // it may have been removed meanwhile, and the copy must have one
  for (const fs::path& folder : complete_up_to_latest(run_)) stay.insert(folder.filename());
  remove_checkpoints([&](const std::string& name) { return !stay.contains(name); });
}

// The metrics have all lines before a checkpoint if they are read after it was complete.
void Copying::copy_files() {
  std::vector<fs::path> files{run_.config(),     run_.metrics(),  run_.summary(),  run_.tags(),
                              run_.evaluation(), run_.matrices(), run_.bad_files()};
  for (const fs::path& folder : {run_.sources(), run_.graphs()}) {
    std::error_code none;
    for (fs::recursive_directory_iterator entry(folder, none), end; !none && entry != end; entry.increment(none)) {
      files.push_back(entry->path());
    }
  }
  for (const fs::path& file : files) {
    std::error_code none;
    if (!fs::is_regular_file(file, none) || file.extension() == kPart) continue;
    const record::InputFile in(file);
    const std::string name = file.lexically_relative(run_.path());
    const bool is_graph = file.extension() == ".pt2";  // large, and never changes
    if (!is_graph || !has(name, in)) write(name, in);
  }
}

void Copying::copy_checkpoint(const fs::path& folder) {
  const OpenFiles files = files_of_checkpoint(folder);
  if (!files.contains(record::kComplete)) return;
  const std::string name = "checkpoints/" + folder.filename().string() + "/";
  const std::string complete = name + record::kComplete;
  const record::InputFile& own = files.at(record::kComplete);
  std::string text(own.size(), '\0');
  own.read(0, text.data(), text.size());
  const bool is_same = there_.contains(complete) && read(complete) == text;
  // It can be of a run that went back, and reached this step again.
  if (!is_same && there_.contains(complete)) remove(complete);
  for (const auto& [file, in] : files) {
    const bool is_there = is_same && has(name + file, in);  // the files of a checkpoint never change
    if (file != record::kComplete && !is_there) write(name + file, in);
  }
  if (is_same) return;
  there_ = store_.list(place_);
  for (const auto& [file, in] : files) {
    if (file == record::kComplete || has(name + file, in)) continue;
    throw training_error("was written, and is not there whole", url_below(without_query(place_), name + file));
  }
  write(complete, own);
}

void Copying::write(const std::string& name, const record::InputFile& file) {
  const auto size = static_cast<std::int64_t>(file.size());
  store_.write(url_below(place_, name), size, [&](std::int64_t begin, char* data, std::size_t bytes) {
    file.read(static_cast<std::uint64_t>(begin), data, bytes);
  });
  there_[name] = size;
}

std::string Copying::read(const std::string& name) {
  std::string text;
  const config::Object object = store_.find(url_below(place_, name)).front();
  store_.read(object, 0, object.bytes, [&](const char* data, std::size_t size) { text.append(data, size); });
  return text;
}

void Copying::remove(const std::string& name) {
  store_.remove(url_below(place_, name));
  there_.erase(name);
}

void Copying::remove_checkpoints(const std::function<bool(const std::string& name)>& is_old) {
  std::vector<std::string> old;
  for (const auto& [file, size] : there_) {
    const fs::path folder = fs::path(file).parent_path();
    const std::string name = folder.filename();
    if (folder.parent_path() == "checkpoints" && record::is_checkpoint_name(name) && is_old(name)) old.push_back(file);
  }
  // COMPLETE first, so that what a kill leaves is no checkpoint.
  std::stable_partition(old.begin(), old.end(), [](const auto& file) { return file.ends_with(record::kComplete); });
  for (const std::string& file : old) remove(file);
}

// The answer of a child.
struct CopyReport {
  std::string newest = {};   // the newest complete checkpoint there; "": it does not know one
  std::string failure = {};  // "": all is there

  void fields(config::Fields& f) {
    f({.name = "newest"}, newest);
    f({.name = "failure"}, failure);
  }
};

// `is_own`: an earlier copy there is known to be of this run.
CopyReport copy_run(const record::RunDirectory& run, const std::string& to, std::int64_t retries, bool is_own) {
  const auto store = is_url(to) ? format::open_object_store(retries) : std::make_unique<FolderStore>();
  Copying copying(run, to, *store);
  CopyReport report;
  try {
    if (!is_own) copying.require_own();
    copying.copy();
  } catch (const std::exception& error) {
    report.failure = as_error(error).what();
  }
  report.newest = copying.newest();
  return report;
}

constexpr std::chrono::milliseconds kGlance{100};
constexpr std::chrono::seconds kBetweenSaves{record::kSilence / 2};

}  // namespace

Mirror::Mirror(record::RunDirectory run, const config::Experiment& e)
    : run_(std::move(run)), retries_(e.loader.retries) {
  const std::string& mirror = e.checkpoint.mirror;
  if (mirror.empty()) return;
  const fs::path folder = run_.path();
  const fs::path name = folder.parent_path().filename() / folder.filename();
  const std::string place = url_below(mirror, name);
  std::error_code none;
  if (!fs::equivalent(folder, place, none)) place_ = place;
}

void Mirror::keep_up() try {
  if (place_.empty() || (child_ && !ended({}))) return;
  std::error_code none;
  const fs::path latest = fs::read_symlink(run_.checkpoints() / "latest", none);
  const bool is_late = std::chrono::steady_clock::now() - begun_ > kBetweenSaves;
  if (none || (latest == seen_ && !is_late)) return;
  seen_ = latest;
  begin();
} catch (const Error& error) {
  tell(error.what());
}

void Mirror::begin() {
  begun_ = std::chrono::steady_clock::now();
  const record::RunDirectory now(run_.path());  // the child does not have the descriptor that finds a moved folder
  child_.emplace("the copy to the mirror", std::vector<int>(), [&](int pipe) {
    std::signal(SIGPIPE, SIG_IGN);                // a server that closes a connection
    [[maybe_unused]] const int lower = nice(10);  // training comes first
    const bool is_own = !newest_.empty();
    launch::RankLibrary::answer_with([&] { return config::written(copy_run(now, place_, retries_, is_own)); }, pipe);
  });
}

bool Mirror::ended(std::chrono::milliseconds patience) try {
  const auto answer = child_->answer(std::chrono::steady_clock::now() + patience);
  if (!answer) return false;
  child_.reset();
  const auto report = config::read_written<CopyReport>(launch::RankLibrary::reply_in(*answer));
  if (!report.newest.empty()) newest_ = report.newest;
  tell(report.failure);
  return true;
} catch (const std::exception& error) {  // also about an answer that is none
  child_.reset();
  tell(as_error(error).what());
  return true;
}

void Mirror::finish(bool stopped) try {
  if (place_.empty()) return;
  if (child_) wait(stopped);
  failure_.clear();  // an old one counts no longer, and is told again if it lasts
  begin();
  wait(stopped);
} catch (const Error& error) {
  tell(error.what());
}

void Mirror::wait(bool stopped) {
  const sigset_t set = launch::stop_signal_set();
  const FileDescriptor signals(signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK));
  launch::StopSignals stops;
  if (stopped) stops.at_once(SIGINT);
  while (!ended(kGlance)) {
    signalfd_siginfo info{};
    while (read(signals.get(), &info, sizeof info) == sizeof info) {
      if (stops.at_once(static_cast<int>(info.ssi_signo))) throw training_error("the last copy was cut short");
      log::info("waiting for the copy to " + without_query(place_) + " (again: ends the wait)");
    }
  }
}

void Mirror::tell(const std::string& failure) {
  if (failure == failure_) return;
  failure_ = failure;
  if (failure.empty()) return;
  log::warn("the mirror " + without_query(place_) + " is behind: " + failure +
            "\n  the newest complete checkpoint there: " + (newest_.empty() ? "none is known" : newest_));
}

void require_new_copy(const config::Experiment& e, const fs::path& run) {
  if (e.checkpoint.mirror.empty()) return;
  const std::string place = url_below(e.checkpoint.mirror, run);
  const auto is_taken = [&](format::ObjectStore& store) { return store.list(place).contains("config.toml"); };
  bool taken = false;
  try {
    FolderStore folder;
    taken = is_url(place)
                ? launch::ask_about_objects("looking at the mirror",
                                            [&] { return config::Value(is_taken(*format::open_object_store(0))); })
                      .get<bool>()
                : is_taken(folder);
  } catch (const launch::Stopped&) {
    throw;
  } catch (const Error&) {  // as the comment of the declaration says
  }
  if (taken) {
    throw usage_error("the mirror has a run of this id, whose copy a new run would replace", without_query(place),
                      "go on with that one: " + own_command("resume " + path_word(without_query(place))) +
                          "; or give another --run-id");
  }
}

std::string newest_complete(const Sizes& files) {
  std::string newest;
  for (const auto& [file, size] : files) {
    const fs::path folder = fs::path(file).parent_path();
    const bool is_checkpoint = folder.parent_path() == "checkpoints" && record::is_checkpoint_name(folder.filename());
    const bool is_complete = is_checkpoint && file == folder / record::kComplete;
    if (is_complete && (newest.empty() || record::step_of(folder) > record::step_of(newest)))
      newest = folder.filename();
  }
  return newest;
}

}  // namespace ddp::runs
