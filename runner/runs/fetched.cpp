#include "runs/fetched.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>
#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <map>
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
#include "launch/library/libtorch.h"
#include "launch/library/rank_library.h"
#include "launch/process/child.h"
#include "record/file/atomic_file.h"
#include "record/run_directory.h"
#include "record/saves/checkpoint_index.h"

namespace ddp::runs {
namespace fs = std::filesystem;
namespace {

using What = FetchedCopy::What;
using Listing = std::map<std::string, std::int64_t>;

constexpr std::int64_t kNanoseconds = 1'000'000'000;
constexpr int kFetchedAtOnce = 8;
constexpr int kMostListings = 5;  // of a run that trains, and replaces its checkpoints

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
bool is_wanted(const fs::path& file, const Listing& all, What what) {
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
  const FileDescriptor out(open(file.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_NOFOLLOW | O_CLOEXEC, 0644));
  if (!out) throw usage_error("cannot be written: " + errno_text(errno), file.string(), remedy_for_write(errno));
  const config::Object object = store.find(url).front();
  store.read(object, 0, object.bytes,
             [&](const char* data, std::size_t size) { write_all(out.get(), data, size, file.string()); });
  if (fsync(out.get()) != 0) throw usage_error("cannot be written: " + errno_text(errno), file.string());
  // Files that were written lately tell that a run trains.
  const timespec then{.tv_sec = object.modified / kNanoseconds, .tv_nsec = object.modified % kNanoseconds};
  const timespec times[2] = {then, then};
  if (object.modified != 0) futimens(out.get(), times);
}

// Fetches what is wanted into a new folder.
void fetch(format::ObjectStore& store, const std::string& url, const fs::path& folder, What what) {
  Listing all = store.list(url);
  for (int listing = 1;; ++listing) {
    std::vector<std::string> wanted;
    for (const auto& [file, size] : all) {
      if (is_wanted(file, all, what)) wanted.push_back(file);
    }
    if (wanted.empty()) throw usage_error("there is no run", without_query(url));
    paths::remove_all(folder);
    try {
      on_threads(std::ssize(wanted), kFetchedAtOnce, [&](std::int64_t i) {
        const std::string& file = wanted[static_cast<std::size_t>(i)];
        fetch_file(store, url_below(url, file), folder / file);
      });
      break;
    } catch (const Error&) {
      Listing now = store.list(url);
      if (now == all || listing == kMostListings) throw;
      all = std::move(now);
    }
  }
  const auto newest_first = record::complete_checkpoints(folder / "checkpoints");
  if (!newest_first.empty()) {
    record::link_atomically(folder / "checkpoints/latest", newest_first.front().filename());
  }
}

// Runs `act` with a store in a throw-away child.
template <class Act>
void with_store(const std::string& url, const Act& act) {
  if (url.starts_with("http")) throw usage_error("is no place of runs", without_query(url), "use s3, gs or abfs");
  launch::obtain({objects_library().name});
  log::info("fetching " + without_query(url));
  launch::RankLibrary::reply_in(launch::ask_child("fetching a run", {}, [&](int pipe) {
    std::signal(SIGPIPE, SIG_IGN);  // a server that closes a connection
    launch::RankLibrary::answer_with(
        [&] {
          act(*format::open_object_store(config::Loader{}.retries));
          return config::Value::object();
        },
        pipe);
  }));
}

// Puts a fetched run in the place of one that stands at an earlier step, of which its other files stay.
void replace(const record::RunDirectory& own, const record::RunDirectory& fetched) {
  paths::make_folders(own.checkpoints());
  for (const fs::path& folder : record::complete_checkpoints(fetched.checkpoints())) {
    const fs::path to = own.checkpoints() / folder.filename();
    if (record::is_complete(to)) continue;
    paths::remove_all(to);
    paths::rename(folder, to);
  }
  for (const fs::path& entry : paths::entries(fetched.path())) {
    if (entry == fetched.checkpoints()) continue;
    const fs::path to = own.path() / entry.filename();
    if (fs::is_directory(entry)) paths::remove_all(to);
    paths::rename(entry, to);
  }
  std::error_code none;
  const fs::path latest = fs::read_symlink(fetched.checkpoints() / "latest", none);
  if (!none) record::link_atomically(own.checkpoints() / "latest", latest);
  paths::remove_all(fetched.path());
}

void fetch_into(format::ObjectStore& store, const std::string& url, const record::RunDirectory& own) {
  const fs::path folder = own.path();
  const FileDescriptor turn = record::take_turn(folder.parent_path());
  const record::RunDirectory fetched(folder.parent_path() / ("." + folder.filename().string() + ".fetched.tmp"));
  std::int64_t there = 0;
  for (const auto& [file, size] : store.list(url)) {
    const fs::path name = file;
    if (name.filename() == record::kComplete) there = std::max(there, record::step_of(name.parent_path()));
  }
  std::error_code none;
  const std::int64_t here = record::step_of(record::latest_checkpoint(own.checkpoints()));
  if (here > there) {
    throw usage_error("has a checkpoint of step " + std::to_string(here) + ", and the newest one at " +
                          without_query(url) + " is of step " + std::to_string(there),
                      folder.string(), "go on with this one: " + own_command("resume " + path_word(folder)));
  }
  if (own.begun() && here == there) return;
  if (own.is_locked()) throw usage_error("another process is writing this run", folder.string());
  fetch(store, url, fetched.path(), What::run);
  if (fs::exists(folder, none)) {
    replace(own, fetched);
  } else {
    paths::rename(fetched.path(), folder);
  }
}

}  // namespace

fs::path fetch_to_go_on(const std::string& url, const fs::path& results) {
  const record::RunDirectory own(results / name_in_url(url));
  paths::make_folders(own.path().parent_path());
  with_store(url, [&](format::ObjectStore& store) { fetch_into(store, url, own); });
  return own.path();
}

FetchedCopy::FetchedCopy(const std::string& url, What what) {
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
