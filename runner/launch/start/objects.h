#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "config/experiment.h"

namespace ddp::launch {

// Returns what `ask` returns, in a throw-away child, which may load libddp_objects.so; obtains that before. `act`: what
// the child does, for errors.
config::Value ask_about_objects(const std::string& act, const std::function<config::Value()>& ask);

// Objects of URLs, with copies in the folder "objects" of the cache folder. A copy is whole or not there; processes
// that want the same object fetch it once. Beyond the limit the copies that were not used for the longest time are
// removed, but none that a process uses.
struct FetchedObjects {
  std::vector<config::Object> all = {};
  std::shared_ptr<const void> in_use = {};  // the copies stay as long as it lives
};

// Looks at the objects of these URLs and fetches those that the cache does not have, in throw-away children. Throws
// ddp::Error (usage) if a server refuses, or if the objects are larger than `loader.cache`. `streams`: fetches nothing,
// and requires that ranks can read parts of the objects.
FetchedObjects fetch_objects(const std::vector<std::string>& urls, const config::Loader& loader, bool streams);

// The objects of several experiments, such as the trials of a sweep: each URL is looked at once, so all of them train
// on the same.
class ObjectShelf {
 public:
  // Fetches the objects of an experiment's data, and lets it read the copies.
  void fetch(config::Experiment& experiment);

 private:
  std::map<std::string, FetchedObjects> known_;  // by URL
};

// Returns the text with the URLs of the objects in place of the names of their copies.
std::string with_urls(std::string text, const config::Experiment& experiment);

}  // namespace ddp::launch
