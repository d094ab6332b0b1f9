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

std::vector<config::Object> find(const std::vector<std::string>& urls, std::int64_t retries) {
  const config::Value found = ask_about_objects("looking at URLs", [&] {
    const auto store = format::open_object_store(retries);
    config::Value all = config::Value::array();
    for (const std::string& url : urls) {
      for (const config::Object& object : store->find(url)) all.push_back(config::written(object));
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
  const auto now = std::chrono::system_clock::now().time_since_epoch().count();
  const std::string content = object.content();
  return folder / record::hash_hex(content.empty() ? object.url + std::to_string(now) : content);
}

// Takes the lock of an entry that is used, and marks it as used now.
FileDescriptor use_of(const fs::path& entry) {
  const fs::path path = entry.string() + format::kUseEnding;
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

// Fetches what the cache lacks.
void fill_cache(const fs::path& folder, const std::vector<config::Object>& objects, const config::Loader& loader) {
  std::vector<config::Object> lacking;
  std::int64_t all = 0, wanted = 0;
  std::set<fs::path> own;
  for (const config::Object& object : objects) {
    if (!own.insert(fs::path(object.file).parent_path()).second) continue;  // two URLs name it
    all += object.bytes;
    if (format::is_fetched(object)) continue;
    lacking.push_back(object);
    wanted += object.bytes;
  }
  if (all > loader.cache_bytes()) {
    throw usage_error(
        "the objects of the data have " + report::bytes_in_words(all) + ", and the cache takes " + loader.cache,
        "loader.cache", "allow more, or read them while training: loader.stream = true");
  }
  if (lacking.empty()) return;
  log::info("fetching " + without_query(lacking.front().url) +
            (lacking.size() > 1 ? " and " + std::to_string(lacking.size() - 1) + " more" : "") + ": " +
            report::bytes_in_words(wanted));
  ask_about_objects("fetching objects", [&] {
    format::open_object_cache(folder, loader.cache_bytes(), loader.retries)->fetch(lacking);
    return config::Value::object();
  });
}

// Lets ranks read the objects piece by piece.
void stream(config::Object& object) {
  if (!object.has_ranges || object.content().empty()) {
    throw usage_error(object.has_ranges ? "the server tells neither an ETag nor the time of the object"
                                        : "the server cannot send a part of the object",
                      without_query(object.url), "leave loader.stream out");
  }
  object.file = without_query(object.url);
}

}  // namespace

config::Value ask_about_objects(const std::string& act, const std::function<config::Value()>& ask) {
  obtain({objects_library().name});
  return RankLibrary::reply_in(ask_child(act, {}, [&](int pipe) {
    std::signal(SIGPIPE, SIG_IGN);  // a server that closes a connection
    RankLibrary::answer_with(ask, pipe);
  }));
}

FetchedObjects fetch_objects(const std::vector<std::string>& urls, const config::Loader& loader, bool streams) {
  if (urls.empty()) return {};
  for (const std::string& url : urls) {
    if (has_user(url)) throw usage_error("the URL names a user", url.substr(0, url.find("://")) + "://…", kNoUser);
  }
  const fs::path folder = objects_folder();
  if (folder.is_relative()) {
    throw usage_error("there is no cache folder for objects of URLs", without_query(urls.front()),
                      "set HOME or XDG_CACHE_HOME");
  }
  paths::make_folders(folder);
  log::info("looking at " + without_query(urls.front()));  // a server that is away takes half a minute
  FetchedObjects fetched{.all = find(urls, loader.retries)};
  if (streams) {
    for (config::Object& object : fetched.all) stream(object);
    return fetched;
  }
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
  std::vector<config::NamedFile> files = config::named_files(experiment);
  std::erase_if(files, [](const config::NamedFile& file) { return file.object || !is_url(file.path); });
  for (const config::NamedFile& file : files) {
    const bool is_listed = std::find(unknown.begin(), unknown.end(), file.path) != unknown.end();
    if (!known_.contains(file.path) && !is_listed) unknown.push_back(file.path);
  }
  const FetchedObjects fetched = fetch_objects(unknown, experiment.loader, experiment.loader.stream);
  for (const std::string& url : unknown) known_[url].in_use = fetched.in_use;
  for (const config::Object& object : fetched.all) known_[object.given].all.push_back(object);
  const config::Components components = experiment.components();
  for (const auto& [section, component] : config::datasets_of(experiment)) {
    std::set<std::string> urls;
    std::vector<std::shared_ptr<const void>> in_use;
    for (const config::NamedFile& file : files) {
      if (!file.key.starts_with(section) || !urls.insert(file.path).second) continue;
      const FetchedObjects& known = known_.at(file.path);
      const std::vector<config::Option>& options = components.find("dataset", component->name)->options;
      const bool takes_one =
          std::any_of(options.begin(), options.end(), [&, &prefix = section](const config::Option& option) {
            return prefix + option.name == file.key && !config::takes_type(option, config::Type::list);
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
