#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <system_error>
#include <vector>

#include "base/installation.h"
#include "config/option/option.h"
#include "format/bytes.h"

// Objects on servers: S3, Google Cloud Storage, Azure, HTTP. The clients are in libddp_objects.so, which needs Arrow
// C++ and cpp-httplib (runner/objects). A process loads it when it first opens a store. It starts threads: never load
// it in a process that forks ranks.
namespace ddp::format {

class ObjectStore {
 public:
  // Gets consecutive bytes.
  using Take = std::function<void(const char* data, std::size_t size)>;

  virtual ~ObjectStore() = default;
  // Returns the objects that a URL stands for as they are now, without a local file: one; or, if the path has a "*",
  // all that match, sorted by their names. Throws ddp::Error (usage) if there is none, or if the server refuses.
  virtual std::vector<config::Object> find(const std::string& url) = 0;
  // Reads bytes of an object as it was when it was found. Thread-safe. Without Object::has_ranges the whole object must
  // be asked for. Throws ddp::Error (usage) if it has changed since, if the server refuses, or if all retries failed.
  virtual void read(const config::Object& object, std::int64_t begin, std::int64_t size, const Take& take) = 0;
  // The attempts of read() after its first one, so far.
  virtual std::int64_t retries() const = 0;
  // Once this holds, read() retries for two seconds at most. Call it before another thread reads.
  virtual void hurry_when(std::function<bool()> holds) = 0;

  // The next three are for s3, gs and abfs. They throw ddp::Error (usage) if the server refuses or all retries failed.

  // Gives the bytes of an object from `begin` on.
  using Give = std::function<void(std::int64_t begin, char* data, std::size_t size)>;
  // Writes an object, in place of an earlier one. It appears when all of its bytes are there.
  virtual void write(const std::string& url, std::int64_t size, const Give& give) = 0;
  // Returns the objects below a folder and their sizes. Their names begin behind the folder and "/".
  virtual std::map<std::string, std::int64_t> list(const std::string& folder) = 0;
  // Removes an object. A missing one is no error.
  virtual void remove(const std::string& url) = 0;
};

// Copies of objects in a folder, whole or in pieces. Beyond the limit those that were not used for the longest time go
// first, but no whole copy that a process uses. Several processes may use a folder; they fetch a copy once.
// Thread-safe.
class ObjectCache : public std::enable_shared_from_this<ObjectCache> {
 public:
  virtual ~ObjectCache() = default;
  // Fetches objects whole to their files (Object::file), unless they are there. A copy is whole or not there. Each is
  // in use: the lock beside its folder (kUseEnding) is taken. Throws ddp::Error (usage).
  virtual void fetch(const std::vector<config::Object>& objects) = 0;
  // Opens an object. What is read of it is fetched piece by piece; the last pieces stay in memory, too.
  virtual std::shared_ptr<const Bytes> open(const config::Object& object) = 0;
  // The bytes that this process fetched so far, and its attempts after the first one of a request.
  virtual std::int64_t fetched_bytes() const = 0;
  virtual std::int64_t retries() const = 0;
  // As ObjectStore::hurry_when.
  virtual void hurry_when(std::function<bool()> holds) = 0;
};

inline constexpr const char* kUseEnding = ".lock";

// Is the whole copy of an object there? A power cut may have cut it.
inline bool is_fetched(const config::Object& object) {
  std::error_code none;
  return static_cast<std::int64_t>(std::filesystem::file_size(object.file, none)) == object.bytes && !none;
}

}  // namespace ddp::format

// The entry points of libddp_objects.so for open_object_store and open_object_cache. The caller owns the results.
extern "C" ddp::format::ObjectStore* ddp_open_object_store(std::int64_t retries);
extern "C" ddp::format::ObjectCache* ddp_open_object_cache(const std::filesystem::path* folder, std::int64_t limit,
                                                           std::int64_t retries);

namespace ddp::format {

// `retries`: attempts after the first for each request. Throws ddp::Error (usage) if libddp_objects.so is missing.
inline std::unique_ptr<ObjectStore> open_object_store(std::int64_t retries) {
  static const auto open =
      reinterpret_cast<decltype(&ddp_open_object_store)>(objects_library().entry("ddp_open_object_store"));
  return std::unique_ptr<ObjectStore>(open(retries));
}

// `limit`: of the bytes in the folder.
inline std::shared_ptr<ObjectCache> open_object_cache(const std::filesystem::path& folder, std::int64_t limit,
                                                      std::int64_t retries) {
  static const auto open =
      reinterpret_cast<decltype(&ddp_open_object_cache)>(objects_library().entry("ddp_open_object_cache"));
  return std::shared_ptr<ObjectCache>(open(&folder, limit, retries));
}

}  // namespace ddp::format
