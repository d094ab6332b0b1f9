#include "runs/fetched.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>
#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <vector>

#include "base/error.h"
#include "base/installation.h"
#include "base/log.h"
#include "base/on_threads.h"
#include "base/own_command.h"
#include "base/paths.h"
#include "base/url.h"
#include "config/experiment.h"
#include "format/object_store.h"
#include "launch/start/objects.h"
#include "record/file/atomic_file.h"
#include "record/run_directory.h"
#include "record/saves/checkpoint_index.h"
#include "runs/mirror.h"

namespace ddp::runs {
namespace fs = std::filesystem;
namespace {

using What = FetchedCopy::What;

constexpr std::int64_t kNanoseconds = 1'000'000'000;
constexpr int kFetchedAtOnce = 8;
constexpr int kMostListings = 5;  // of a run that trains, and replaces its checkpoints

void require_place(const std::string& url) {
  if (url.starts_with("http") || has_user(url)) {
    throw usage_error("is no place of runs", url.substr(0, url.find("://")) + "://…",
                      "use s3, gs or abfs, and no user in the URL");
  }
}

// "NAME/RUN-ID" of a URL that ends with it.
fs::path name_in_url(const std::string& url) {
  std::string path = without_query(url);
  while (path.ends_with('/')) path.pop_back();
  const fs::path whole = path.substr(path.find("://") + 3);
  const std::string name = whole.parent_path().filename(), run_id = whole.filename();
  if (is_safe_name(name) && is_safe_name(run_id) && whole.parent_path().has_parent_path())
    return fs::path(name) / run_id;
  throw usage_error("does not end with the name and the id of a run", path, "give …/NAME/RUN-ID");
}

// Is it a file of a run that is to be fetched? The names are a server's: they must not lead out of the folder.
bool is_wanted(const fs::path& file, const Sizes& all, What what) {
  const std::vector<fs::path> parts(file.begin(), file.end());
  for (const fs::path& part : parts) {
    if (part.empty() || part == "/" || part.native().starts_with('.')) return false;
  }
  const std::size_t begin = what == What::results ? 2 : 0;  // of the name in the run's folder
  if (parts.size() <= begin) return false;
  const fs::path run = begin == 0 ? fs::path() : parts[0] / parts[1];
  if (!all.contains(run / "config.toml")) return false;
  if (what != What::run && (file.extension() == ".safetensors" || file.extension() == ".pt2")) return false;
  if (parts[begin] != "checkpoints") return true;
  return parts.size() == begin + 3 && all.contains(file.parent_path() / record::kComplete);
}

void fetch_file(format::ObjectStore& store, const std::string& url, const fs::path& file) {
  paths::make_folders(file.parent_path());
  const std::string part = file.string() + ".tmp";
  const FileDescriptor out(open(part.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_NOFOLLOW | O_CLOEXEC, 0644));
  if (!out) throw usage_error("cannot be written: " + errno_text(errno), part, remedy_for_write(errno));
  const config::Object object = store.find(url).front();
  store.read(object, 0, object.bytes,
             [&](const char* data, std::size_t size) { write_all(out.get(), data, size, part); });
  if (fsync(out.get()) != 0) throw usage_error("cannot be written: " + errno_text(errno), part);
  // Files that were written lately tell that a run trains.
  const timespec then{.tv_sec = object.modified / kNanoseconds, .tv_nsec = object.modified % kNanoseconds};
  const timespec times[2] = {then, then};
  if (object.modified != 0) futimens(out.get(), times);
  paths::rename(part, file);
}

// Fetches what is wanted into a folder. What makes a checkpoint complete comes after its files, and what makes the
// folder a run comes last.
void fetch(format::ObjectStore& store, const std::string& url, const fs::path& folder, What what) {
  Sizes all = store.list(url);
  for (int listing = 1;; ++listing) {
    std::vector<std::string> first, last;
    for (const auto& [file, size] : all) {
      const fs::path name = file;
      if (!is_wanted(name, all, what) || record::is_complete(folder / name.parent_path())) continue;
      const bool is_last = name.filename() == record::kComplete || name.filename() == "config.toml";
      (is_last ? last : first).push_back(file);
    }
    if (last.empty()) throw usage_error("there is no run", without_query(url));
    try {
      for (const auto* files : {&first, &last}) {
        on_threads(std::ssize(*files), kFetchedAtOnce, [&](std::int64_t i) {
          const std::string& file = (*files)[static_cast<std::size_t>(i)];
          fetch_file(store, url_below(url, file), folder / file);
        });
      }
      break;
    } catch (const Error&) {
      Sizes now = store.list(url);
      if (now == all || listing == kMostListings) throw;
      all = std::move(now);
    }
  }
  const std::string newest = newest_complete(all);
  if (what != What::results && !newest.empty()) record::link_atomically(folder / "checkpoints/latest", newest);
}

// Runs `act` with a store in a throw-away child.
template <class Act>
void with_store(const std::string& url, const Act& act) {
  log::info("fetching " + without_query(url));
  launch::ask_about_objects("fetching a run", [&] {
    act(*format::open_object_store(config::Loader{}.retries));
    return config::Value::object();
  });
}

void fetch_into(format::ObjectStore& store, const std::string& url, const record::RunDirectory& own) {
  const FileDescriptor turn = record::take_turn(own.path().parent_path());
  const std::string newest = newest_complete(store.list(url));
  const std::int64_t there = record::step_of(newest),
                     here = record::step_of(record::latest_checkpoint(own.checkpoints()));
  if (here > there) {
    throw usage_error("has a checkpoint of step " + std::to_string(here) + ", and the newest one at " +
                          without_query(url) + " is of step " + std::to_string(there),
                      own.path().string(), "go on with this one: " + own_command("resume " + path_word(own.path())));
  }
  if (own.begun() && here == there) return;
  if (own.is_locked()) throw usage_error("another process is writing this run", own.path().string());
  fetch(store, url, own.path(), What::run);
}

}  // namespace

fs::path fetch_to_go_on(const std::string& url, const fs::path& results) {
  require_place(url);
  const record::RunDirectory own(results / name_in_url(url));
  paths::make_folders(own.path().parent_path());
  with_store(url, [&](format::ObjectStore& store) { fetch_into(store, url, own); });
  return own.path();
}

FetchedCopy::FetchedCopy(const std::string& url, What what) {
  require_place(url);
  const fs::path all = cache_folder() / "runs";
  if (all.is_relative())
    throw usage_error("there is no cache folder", without_query(url), "set HOME or XDG_CACHE_HOME");
  paths::make_folders(all);
  {
    const FileDescriptor turn = record::take_turn(all);
    for (const fs::path& old : paths::entries(all)) {
      const FileDescriptor folder(open(old.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
      if (folder && flock(folder.get(), LOCK_EX | LOCK_NB) == 0) paths::remove_all(old);
    }
    std::string made = all / "XXXXXX";
    if (mkdtemp(made.data()) == nullptr) throw usage_error("cannot make a folder: " + errno_text(errno), all.string());
    folder_ = made;
    lock_ = record::take_turn(folder_);
  }
  path_ = what == What::results ? folder_ / "results" : folder_ / name_in_url(url);
  with_store(url, [&](format::ObjectStore& store) { fetch(store, url, path_, what); });
}

FetchedCopy::~FetchedCopy() {
  std::error_code stays;
  fs::remove_all(folder_, stays);
}

}  // namespace ddp::runs
