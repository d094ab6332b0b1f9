#include "launch/start/objects.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>
#include <algorithm>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <set>
#include <utility>

#include "base/error.h"
#include "base/file_descriptor.h"
#include "base/installation.h"
#include "base/log.h"
#include "base/paths.h"
#include "base/url.h"
#include "config/load/files.h"
#include "format/object_store.h"
#include "launch/library/libtorch.h"
#include "launch/library/plugin_cache.h"
#include "launch/library/rank_library.h"
#include "launch/process/child.h"
#include "record/file/input_file.h"
#include "report/text/words.h"

namespace ddp::launch {
namespace fs = std::filesystem;
namespace {

constexpr const char* kUseEnding = ".lock";
constexpr const char* kPartEnding = ".part";

// Returns what `ask` returns with a store, in a throw-away child.
template <class Ask>
config::Value ask_store(const std::string& act, std::int64_t retries, const Ask& ask) {
  return RankLibrary::reply_in(ask_child(act, {}, [&](int pipe) {
    std::signal(SIGPIPE, SIG_IGN);  // a server that closes a connection
    RankLibrary::answer_with(
        [&] {
          const auto store = format::open_object_store(retries);
          return ask(*store);
        },
        pipe);
  }));
}

std::vector<config::Object> find(const std::vector<std::string>& urls, std::int64_t retries) {
  const config::Value found = ask_store("looking at URLs", retries, [&](format::ObjectStore& store) {
    config::Value all = config::Value::array();
    for (const std::string& url : urls) {
      for (const config::Object& object : store.find(url)) all.push_back(config::written(object));
    }
    return config::Value{{"objects", all}};
  });
  std::vector<config::Object> objects;
  for (const config::Value& object : found.at("objects"))
    objects.push_back(config::read_written<config::Object>(object));
  return objects;
}

// One folder for each content of an object, because the copy keeps the object's name. An object whose server tells
// nothing of its content is fetched each time.
fs::path entry_of(const fs::path& folder, const config::Object& object) {
  std::string content = !object.etag.empty() ? object.etag : object.version;
  if (content.empty()) {
    const auto now = std::chrono::system_clock::now().time_since_epoch().count();
    content = std::to_string(object.modified != 0 ? object.modified : now);
  }
  return folder / record::hash_hex((is_signed(object.url) ? without_query(object.url) : object.url) + '\0' + content +
                                   '\0' + std::to_string(object.bytes));
}

// Is the copy whole? A power cut may have cut it.
bool is_fetched(const config::Object& object) {
  std::error_code none;
  return static_cast<std::int64_t>(fs::file_size(object.file, none)) == object.bytes && !none;
}

// Takes the lock of an entry that is used, and marks it as used now.
FileDescriptor use_of(const fs::path& entry) {
  const fs::path path = entry.string() + kUseEnding;
  for (;;) {
    FileDescriptor lock(open(path.c_str(), O_RDWR | O_CREAT | O_NOFOLLOW | O_CLOEXEC, 0644));
    if (!lock || flock(lock.get(), LOCK_SH) != 0) {
      throw usage_error("cannot keep objects of URLs: " + errno_text(errno), path.string(),
                        "XDG_CACHE_HOME names another folder");
    }
    if (!is_current(lock, path)) continue;
    futimens(lock.get(), nullptr);
    return lock;
  }
}

// The locks take a descriptor for each object.
void allow_descriptors(std::size_t more) {
  rlimit limit{};
  if (getrlimit(RLIMIT_NOFILE, &limit) != 0) return;
  limit.rlim_cur = std::min(limit.rlim_max, limit.rlim_cur + more);
  setrlimit(RLIMIT_NOFILE, &limit);
}

// Fetches an object into its entry, unless another process has done it meanwhile. Its bytes come under another name
// first. Throws ddp::Error (usage).
void fetch(format::ObjectStore& store, const config::Object& object) {
  const fs::path file = object.file;
  const fs::path part = file.parent_path().string() + kPartEnding;
  for (;;) {
    const FileDescriptor out(open(part.c_str(), O_RDWR | O_CREAT | O_NOFOLLOW | O_CLOEXEC, 0644));
    if (!out || flock(out.get(), LOCK_EX) != 0) {
      throw usage_error("cannot be written: " + errno_text(errno), part.string(), remedy_for_write(errno));
    }
    if (!is_current(out, part)) continue;
    std::error_code none;
    if (is_fetched(object)) {
      fs::remove(part, none);
      return;
    }
    if (ftruncate(out.get(), 0) != 0) throw usage_error("cannot be written: " + errno_text(errno), part.string());
    try {
      store.read(object, 0, object.bytes,
                 [&](const char* data, std::size_t size) { write_all(out.get(), data, size, part.string()); });
      if (fsync(out.get()) != 0) throw usage_error("cannot be written: " + errno_text(errno), part.string());
      paths::make_folders(file.parent_path());
      paths::rename(part, file);
    } catch (const Error&) {
      fs::remove(part, none);
      throw;
    }
    return;
  }
}

// A copy in the cache.
struct Entry {
  fs::path path;
  std::int64_t bytes = 0;
  std::int64_t used = 0;  // nanoseconds since 1970
};

std::vector<Entry> entries_of(const fs::path& folder) {
  std::vector<Entry> found;
  for (const fs::path& path : paths::entries(folder)) {
    if (path.extension() != kUseEnding) continue;
    struct stat s {};
    if (stat(path.c_str(), &s) != 0) continue;
    const fs::path entry = path.parent_path() / path.stem();
    std::error_code none;
    const auto part = fs::file_size(entry.string() + kPartEnding, none);  // of a fetch that was killed
    found.push_back({.path = entry,
                     .bytes = paths::size_on_disk(entry) + (none ? 0 : static_cast<std::int64_t>(part)),
                     .used = s.st_mtim.tv_sec * std::int64_t{1'000'000'000} + s.st_mtim.tv_nsec});
  }
  std::sort(found.begin(), found.end(), [](const Entry& a, const Entry& b) { return a.used < b.used; });
  return found;
}

// Removes copies that no process uses, the oldest first, until these bytes fit the limit together with what stays.
// `own`: the entries that the bytes are for.
void make_room(const fs::path& folder, std::int64_t bytes, const std::set<fs::path>& own, std::int64_t limit) {
  std::vector<Entry> entries = entries_of(folder);
  std::erase_if(entries, [&](const Entry& entry) { return own.contains(entry.path); });
  std::int64_t taken = bytes;
  for (const Entry& entry : entries) taken += entry.bytes;
  for (const Entry& entry : entries) {
    if (taken <= limit) return;
    const fs::path path = entry.path.string() + kUseEnding;
    const FileDescriptor lock(open(path.c_str(), O_RDWR | O_NOFOLLOW | O_CLOEXEC));
    if (!lock || flock(lock.get(), LOCK_EX | LOCK_NB) != 0 || !is_current(lock, path)) continue;
    paths::remove_all(entry.path);
    paths::remove_all(entry.path.string() + kPartEnding);
    paths::remove_all(path);
    taken -= entry.bytes;
  }
  if (taken <= limit) return;
  throw usage_error("the cache of " + report::bytes_in_words(limit) + " is full of objects that runs use",
                    "loader.cache", "allow more, or wait for the end of another run");
}

// Fetches what the cache lacks.
void fill_cache(const fs::path& folder, const std::vector<config::Object>& objects, const config::Loader& loader) {
  std::vector<config::Object> lacking;
  std::int64_t all = 0, wanted = 0;
  std::set<fs::path> own;
  for (const config::Object& object : objects) {
    if (!own.insert(fs::path(object.file).parent_path()).second) continue;  // two URLs name it
    all += object.bytes;
    if (is_fetched(object)) continue;
    lacking.push_back(object);
    wanted += object.bytes;
  }
  if (all > loader.cache_bytes()) {
    throw usage_error(
        "the objects of the data have " + report::bytes_in_words(all) + ", and the cache takes " + loader.cache,
        "loader.cache", "allow more");
  }
  if (lacking.empty()) return;
  make_room(folder, all, own, loader.cache_bytes());
  log::info("fetching " + without_query(lacking.front().url) +
            (lacking.size() > 1 ? " and " + std::to_string(lacking.size() - 1) + " more" : "") + ": " +
            report::bytes_in_words(wanted));
  ask_store("fetching objects", loader.retries, [&](format::ObjectStore& store) {
    for (const config::Object& object : lacking) fetch(store, object);
    return config::Value::object();
  });
}

}  // namespace

FetchedObjects fetch_objects(const std::vector<std::string>& urls, const config::Loader& loader) {
  if (urls.empty()) return {};
  obtain({objects_library().name});
  const fs::path folder = cache_folder() / "objects";
  if (folder.is_relative()) {
    throw usage_error("there is no cache folder for objects of URLs", urls.front(), "set HOME or XDG_CACHE_HOME");
  }
  paths::make_folders(folder);
  log::info("looking at " + without_query(urls.front()));  // a server that is away takes half a minute
  FetchedObjects fetched{.all = find(urls, loader.retries)};
  auto locks = std::make_shared<std::vector<FileDescriptor>>();
  allow_descriptors(fetched.all.size());
  for (config::Object& object : fetched.all) {
    const fs::path entry = entry_of(folder, object);
    object.file = (entry / file_name_of(object.url)).string();
    locks->push_back(use_of(entry));
  }
  fill_cache(folder, fetched.all, loader);
  fetched.in_use = locks;
  return fetched;
}

void ObjectShelf::fetch(config::Experiment& experiment) {
  std::vector<std::string> unknown;
  const std::vector<config::NamedFile> files = config::named_files(experiment);
  for (const config::NamedFile& file : files) {
    const bool is_listed = std::find(unknown.begin(), unknown.end(), file.path) != unknown.end();
    if (is_url(file.path) && !known_.contains(file.path) && !is_listed) unknown.push_back(file.path);
  }
  const FetchedObjects fetched = fetch_objects(unknown, experiment.loader);
  for (const std::string& url : unknown) known_[url].in_use = fetched.in_use;
  for (const config::Object& object : fetched.all) known_[object.given].all.push_back(object);
  const config::Components components = experiment.components();
  for (const auto& [section, component] : config::datasets_of(experiment)) {
    std::set<std::string> urls;
    std::vector<std::shared_ptr<const void>> in_use;
    for (const config::NamedFile& file : files) {
      if (!file.key.starts_with(section) || !is_url(file.path) || !urls.insert(file.path).second) continue;
      const FetchedObjects& known = known_.at(file.path);
      const std::vector<config::Option>& options = components.find("dataset", component->name)->options;
      const bool takes_one = std::any_of(options.begin(), options.end(), [&](const config::Option& option) {
        return section + option.name == file.key && !config::takes_type(option, config::Type::list);
      });
      if (known.all.size() > 1 && takes_one) {
        throw usage_error("names " + std::to_string(known.all.size()) + " objects, and one is wanted", file.key);
      }
      component->objects.insert(component->objects.end(), known.all.begin(), known.all.end());
      in_use.push_back(known.in_use);
    }
    if (!in_use.empty()) component->objects_in_use = std::make_shared<decltype(in_use)>(std::move(in_use));
  }
}

std::string with_urls(std::string text, const config::Experiment& e) {
  for (const config::Component* data : {&e.dataset, &e.validation.dataset, &e.test.dataset}) {
    for (const config::Object& object : data->objects) {
      for (std::size_t at = text.find(object.file); at != text.npos; at = text.find(object.file, at)) {
        const std::string url = without_query(object.url);
        text.replace(at, object.file.size(), url);
        at += url.size();
      }
    }
  }
  return text;
}

}  // namespace ddp::launch
