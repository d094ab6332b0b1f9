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
#include "base/paths.h"
#include "base/url.h"
#include "format/object_store.h"
#include "launch/library/rank_library.h"
#include "launch/process/stop_signals.h"
#include "record/file/atomic_file.h"
#include "record/file/input_file.h"
#include "record/saves/checkpoint_index.h"

namespace ddp::runs {
namespace fs = std::filesystem;
namespace {

constexpr const char* kCheckpoints = "checkpoints/";
constexpr const char* kPart = ".tmp";  // a file that is being written

using Sizes = std::map<std::string, std::int64_t>;  // of files, by their names behind a folder

// Where a copy is. Names are behind its own.
class Place {
 public:
  virtual ~Place() = default;
  // The files below a folder; "": all.
  virtual Sizes list(const std::string& folder) = 0;
  virtual std::string read(const std::string& name) = 0;
  // The file appears whole.
  virtual void write(const std::string& name, const record::InputFile& file) = 0;
  virtual void remove(const std::string& name) = 0;
};

class FolderPlace final : public Place {
 public:
  explicit FolderPlace(fs::path path) : path_(std::move(path)) {}

  Sizes list(const std::string& folder) override {
    Sizes found;
    std::error_code error;
    const fs::path top = path_ / folder;
    for (fs::recursive_directory_iterator entry(top, error), end; !error && entry != end; entry.increment(error)) {
      std::error_code gone;
      if (entry->is_regular_file(gone))
        found[entry->path().lexically_relative(top)] = std::int64_t(entry->file_size(gone));
    }
    return found;
  }

  std::string read(const std::string& name) override { return record::read_text(path_ / name); }

  void write(const std::string& name, const record::InputFile& file) override {
    const fs::path to = path_ / name;
    const fs::path part = to.string() + kPart;
    paths::make_folders(to.parent_path());
    const FileDescriptor out(open(part.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644));
    if (!out) throw training_error("cannot be written: " + errno_text(errno), part.string(), remedy_for_write(errno));
    std::vector<char> piece(std::min<std::uint64_t>(1 << 20, file.size()));
    for (std::uint64_t done = 0; done < file.size(); done += piece.size()) {
      piece.resize(std::min<std::uint64_t>(piece.size(), file.size() - done));
      file.read(done, piece.data(), piece.size());
      write_all(out.get(), piece.data(), piece.size(), part.string());
    }
    if (fsync(out.get()) != 0) throw training_error("cannot be written: " + errno_text(errno), part.string());
    paths::rename(part, to);
    record::sync_folder(to.parent_path());
  }

  void remove(const std::string& name) override { paths::remove_all(path_ / name); }

 private:
  const fs::path path_;
};

class BucketPlace final : public Place {
 public:
  BucketPlace(std::string url, std::int64_t retries)
      : url_(std::move(url)), store_(format::open_object_store(retries)) {}

  Sizes list(const std::string& folder) override { return store_->list(url_below(url_, folder)); }

  std::string read(const std::string& name) override {
    std::string text;
    const config::Object object = store_->find(url_below(url_, name)).front();
    store_->read(object, 0, object.bytes, [&](const char* data, std::size_t size) { text.append(data, size); });
    return text;
  }

  void write(const std::string& name, const record::InputFile& file) override {
    store_->write(url_below(url_, name), static_cast<std::int64_t>(file.size()),
                  [&](std::int64_t begin, char* data, std::size_t size) {
                    file.read(static_cast<std::uint64_t>(begin), data, size);
                  });
  }

  void remove(const std::string& name) override { store_->remove(url_below(url_, name)); }

 private:
  const std::string url_;
  const std::unique_ptr<format::ObjectStore> store_;
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

// Brings a copy up to date with its run.
class Copying {
 public:
  Copying(const record::RunDirectory& run, Place& place) : run_(run), place_(place) {}

  void copy();
  // The newest complete checkpoint there; "": none is known.
  std::string newest() const;

 private:
  void copy_files();
  void copy_checkpoint(const fs::path& folder);
  // Removes the checkpoints there for whose names this holds.
  void remove(const std::function<bool(const std::string& name)>& is_old);
  std::set<std::string> checkpoints() const;
  bool has(const std::string& name, const record::InputFile& file) const {
    const auto found = there_.find(name);
    return found != there_.end() && found->second == static_cast<std::int64_t>(file.size());
  }

  const record::RunDirectory& run_;
  Place& place_;
  Sizes there_ = {};
};

std::vector<fs::path> complete_up_to_latest(const record::RunDirectory& run) {
  std::vector<fs::path> saved = record::up_to_latest(run.checkpoints());
  std::erase_if(saved, [](const fs::path& folder) { return !record::is_complete(folder); });
  return saved;
}

void Copying::copy() {
  there_ = place_.list("");
  const std::vector<fs::path> saved = complete_up_to_latest(run_);
  if (saved.empty()) return copy_files();
  const fs::path& last = saved.front();
  // The run went back and gave these up: a machine that takes over must not go on from them.
  remove([&](const std::string& name) { return record::step_of(name) > record::step_of(last); });
  copy_files();
  for (const fs::path& folder : saved) copy_checkpoint(folder);
  const std::string newest_here = last.filename();
  if (newest() != newest_here) return;
  std::set<std::string> stay{newest_here};  // it may have been removed meanwhile, and the copy must have one
  for (const fs::path& folder : complete_up_to_latest(run_)) stay.insert(folder.filename());
  remove([&](const std::string& name) { return !stay.contains(name); });
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
    if (!is_graph || !has(name, in)) place_.write(name, in);
  }
}

void Copying::copy_checkpoint(const fs::path& folder) {
  const OpenFiles files = files_of_checkpoint(folder);
  if (!files.contains(record::kComplete)) return;
  const std::string name = kCheckpoints + folder.filename().string();
  const std::string complete = name + "/" + record::kComplete;
  const record::InputFile& own = files.at(record::kComplete);
  std::string text(own.size(), '\0');
  own.read(0, text.data(), text.size());
  const bool is_complete = there_.contains(complete);
  const bool is_same = is_complete && place_.read(complete) == text;
  if (is_complete && !is_same) {  // of a run that went back, and reached this step again
    place_.remove(complete);
    there_.erase(complete);
  }
  for (const auto& [file, in] : files) {
    const bool is_there = is_same && has(name + "/" + file, in);  // the files of a checkpoint never change
    if (file != record::kComplete && !is_there) place_.write(name + "/" + file, in);
  }
  if (is_same) return;
  const Sizes written = place_.list(name);
  for (const auto& [file, in] : files) {
    const auto found = written.find(file);
    const bool is_whole = found != written.end() && found->second == static_cast<std::int64_t>(in.size());
    if (file != record::kComplete && !is_whole) throw training_error("was written, and is not there whole", file);
  }
  place_.write(complete, own);
  there_[complete] = static_cast<std::int64_t>(own.size());
}

std::set<std::string> Copying::checkpoints() const {
  std::set<std::string> names;
  for (const auto& [file, size] : there_) {
    if (!file.starts_with(kCheckpoints)) continue;
    const std::string name = *++fs::path(file).begin();
    if (record::is_checkpoint_name(name)) names.insert(name);
  }
  return names;
}

void Copying::remove(const std::function<bool(const std::string& name)>& is_old) {
  for (const std::string& name : checkpoints()) {
    if (!is_old(name)) continue;
    const std::string folder = kCheckpoints + name;
    // First, so that what a kill leaves is no checkpoint.
    place_.remove(folder + "/" + record::kComplete);
    place_.remove(folder);
    std::erase_if(there_, [&](const auto& file) { return file.first.starts_with(folder + "/"); });
  }
}

std::string Copying::newest() const {
  std::string found;
  for (const std::string& name : checkpoints()) {
    const bool is_complete = there_.contains(kCheckpoints + name + "/" + record::kComplete);
    if (is_complete && (found.empty() || record::step_of(name) > record::step_of(found))) found = name;
  }
  return found;
}

// What a child answers.
struct CopyReport {
  std::string newest = {};   // the newest complete checkpoint there; "": it does not know one
  std::string failure = {};  // "": all is there

  void fields(config::Fields& f) {
    f({.name = "newest"}, newest);
    f({.name = "failure"}, failure);
  }
};

CopyReport copy_run(const record::RunDirectory& run, const std::string& to, std::int64_t retries) {
  std::unique_ptr<Place> place;
  if (is_url(to)) {
    place = std::make_unique<BucketPlace>(to, retries);
  } else {
    place = std::make_unique<FolderPlace>(to);
  }
  Copying copying(run, *place);
  CopyReport report;
  try {
    copying.copy();
  } catch (const std::exception& error) {
    report.failure = as_error(error).what();
  }
  report.newest = copying.newest();
  return report;
}

constexpr std::chrono::milliseconds kGlance{100};

}  // namespace

Mirror::Mirror(record::RunDirectory run, const config::Experiment& e)
    : run_(std::move(run)), retries_(e.loader.retries) {
  const std::string& mirror = e.checkpoint.mirror;
  if (mirror.empty()) return;
  const fs::path folder = run_.path();
  const fs::path name = folder.parent_path().filename() / folder.filename();
  const std::string place = is_url(mirror) ? url_below(mirror, name) : (mirror / name).string();
  std::error_code none;
  if (!fs::equivalent(folder, place, none)) place_ = place;
}

void Mirror::keep_up() try {
  if (place_.empty() || (child_ && !ended({}))) return;
  std::error_code none;
  const fs::path latest = fs::read_symlink(run_.checkpoints() / "latest", none);
  if (none || latest == seen_) return;
  seen_ = latest;
  begin();
} catch (const Error& error) {
  tell(error.what());
}

void Mirror::begin() {
  child_.emplace("the copy to the mirror", std::vector<int>(), [&](int pipe) {
    std::signal(SIGPIPE, SIG_IGN);                // a server that closes a connection
    [[maybe_unused]] const int lower = nice(10);  // training comes first
    launch::RankLibrary::answer_with([&] { return config::written(copy_run(run_, place_, retries_)); }, pipe);
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

void require_mirror(const config::Loaded& loaded, bool has_parent) {
  const std::string& mirror = loaded.experiment.checkpoint.mirror;
  if (mirror.starts_with("http")) {
    throw loaded.error("checkpoint.mirror", "cannot be written by http: " + without_query(mirror),
                       "use s3, gs, abfs or a folder");
  }
  if (!mirror.empty() && !has_parent) {
    throw loaded.error("checkpoint.mirror", "needs the command that starts the ranks, and here another launcher does",
                       "start ddp-exp once on each node, or leave it out");
  }
}

}  // namespace ddp::runs
