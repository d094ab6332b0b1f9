#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/error.h"
#include "base/file_descriptor.h"
#include "base/paths.h"
#include "base/recent.h"
#include "format/object_store.h"
#include "record/file/input_file.h"

namespace ddp::objects {
namespace {

namespace fs = std::filesystem;

constexpr const char* kPartEnding = ".part";
constexpr std::int64_t kPieceBytes = 4 << 20;
constexpr std::size_t kHashDigits = 16;   // behind the bytes of a piece
constexpr std::size_t kRecentPieces = 8;  // in memory

// A copy in the folder: an object, a piece, or what a process that was killed left of one.
struct Copy {
  fs::path path;
  bool is_whole = false;
  std::int64_t bytes = 0;
  std::int64_t used = 0;  // nanoseconds since 1970
};

std::optional<Copy> copy_at(const fs::path& path, const fs::path& used) {
  struct stat s {};
  if (stat(used.c_str(), &s) != 0) return {};
  return Copy{
      .path = path, .bytes = s.st_size, .used = s.st_mtim.tv_sec * std::int64_t{1'000'000'000} + s.st_mtim.tv_nsec};
}

// Removes a copy that no process uses or fetches.
bool remove_copy(const Copy& copy) {
  const bool is_piece = !copy.is_whole && copy.path.extension() != kPartEnding;
  if (is_piece) {
    paths::remove_all(copy.path);
    return true;
  }
  const fs::path path = copy.path.string() + (copy.is_whole ? format::kUseEnding : "");
  const FileDescriptor lock(open(path.c_str(), O_RDWR | O_NOFOLLOW | O_CLOEXEC));
  if (!lock || flock(lock.get(), LOCK_EX | LOCK_NB) != 0 || !is_current(lock, path)) return false;
  paths::remove_all(copy.path);
  if (copy.is_whole) paths::remove_all(copy.path.string() + kPartEnding);
  paths::remove_all(path);
  return true;
}

Error no_write(const fs::path& path) {
  return usage_error("cannot be written: " + errno_text(errno), path.string(), remedy_for_write(errno));
}

class Cache final : public format::ObjectCache {
 public:
  Cache(fs::path folder, std::int64_t limit, std::int64_t retries)
      : folder_(std::move(folder)),
        pieces_(folder_ / "pieces"),
        limit_(limit),
        store_(ddp_open_object_store(retries)),
        recent_(kRecentPieces) {
    paths::make_folders(pieces_);
  }

  void fetch(const std::vector<config::Object>& objects) override {
    for (const config::Object& object : objects) {
      const fs::path file = object.file;
      const bool has_room = keep(
          file.parent_path().string() + kPartEnding, file, object.bytes, [&] { return format::is_fetched(object); },
          [&](int out) {
            store_->read(object, 0, object.bytes,
                         [&](const char* data, std::size_t size) { write_all(out, data, size, file.string()); });
            if (fsync(out) != 0) throw no_write(file);
          });
      if (has_room) continue;
      throw usage_error("the cache is full of objects that runs use", "loader.cache",
                        "allow more, or wait for the end of another run");
    }
  }

  std::shared_ptr<const format::Bytes> open(const config::Object& object) override;
  std::int64_t fetched_bytes() const override { return fetched_; }
  std::int64_t retries() const override { return store_->retries(); }
  void hurry_when(std::function<bool()> holds) override { store_->hurry_when(std::move(holds)); }

  std::shared_ptr<const std::string> piece(const config::Object& object, std::int64_t number) {
    const std::string name = record::hash_hex(object.content()) + "-" + std::to_string(number);
    return recent_.get(name, [&](const std::string&) { return load(object, name, number); });
  }

 private:
  std::shared_ptr<const std::string> load(const config::Object& object, const std::string& name, std::int64_t number) {
    const std::int64_t begin = number * kPieceBytes;
    const std::int64_t size = std::min(kPieceBytes, object.bytes - begin);
    const fs::path file = pieces_ / name;
    std::shared_ptr<const std::string> bytes = kept(file, size);
    if (bytes) return bytes;
    const auto is_kept = [&] { return (bytes = kept(file, size)) != nullptr; };
    const auto fetched = [&] {
      std::string all;
      all.reserve(static_cast<std::size_t>(size));
      store_->read(object, begin, size, [&](const char* data, std::size_t more) { all.append(data, more); });
      fetched_ += size;
      return all;
    };
    keep(file.string() + kPartEnding, file, size + static_cast<std::int64_t>(kHashDigits), is_kept, [&](int out) {
      std::string all = fetched();
      const std::string hash = record::hash_hex(all);
      write_all(out, all.data(), all.size(), file.string());
      write_all(out, hash.data(), hash.size(), file.string());
      bytes = std::make_shared<const std::string>(std::move(all));
    });
    // Other runs may use all of the cache.
    return bytes ? bytes : std::make_shared<const std::string>(fetched());
  }

  // Returns the bytes of a piece in the folder; null: it is not there, or damaged.
  static std::shared_ptr<const std::string> kept(const fs::path& file, std::int64_t size) {
    const FileDescriptor in(::open(file.c_str(), O_RDONLY | O_NOFOLLOW | O_CLOEXEC));
    if (!in) return nullptr;
    std::string bytes(static_cast<std::size_t>(size) + kHashDigits + 1, '\0');  // a longer file is damaged
    std::size_t got = 0;
    for (ssize_t more = 1; more > 0 && got < bytes.size();) {
      more = ::read(in.get(), bytes.data() + got, bytes.size() - got);
      if (more > 0) got += static_cast<std::size_t>(more);
    }
    const std::string hash = bytes.substr(static_cast<std::size_t>(size), kHashDigits);
    bytes.resize(static_cast<std::size_t>(size));
    if (got != bytes.size() + kHashDigits || record::hash_hex(bytes) != hash) return nullptr;
    futimens(in.get(), nullptr);
    return std::make_shared<const std::string>(std::move(bytes));
  }

  // Writes a copy under another name first, unless another process has done it meanwhile. Returns false if the folder
  // has no room.
  template <class IsThere, class Write>
  bool keep(const fs::path& part, const fs::path& file, std::int64_t bytes, const IsThere& is_there,
            const Write& write) {
    for (;;) {
      const FileDescriptor out(::open(part.c_str(), O_RDWR | O_CREAT | O_NOFOLLOW | O_CLOEXEC, 0644));
      if (!out || flock(out.get(), LOCK_EX) != 0) throw no_write(part);
      if (!is_current(out, part)) continue;
      std::error_code none;
      if (is_there()) {
        fs::remove(part, none);
        return true;
      }
      try {
        if (!reserve(out, bytes)) {
          fs::remove(part, none);
          return false;
        }
        write(out.get());
        paths::make_folders(file.parent_path());
        paths::rename(part, file);
      } catch (const Error&) {
        fs::remove(part, none);
        throw;
      }
      return true;
    }
  }

  // Gives an unfinished copy its size, so that other processes count it, and makes room for it.
  bool reserve(const FileDescriptor& part, std::int64_t bytes) {
    const fs::path path = folder_ / "room";
    const FileDescriptor room(::open(path.c_str(), O_RDWR | O_CREAT | O_NOFOLLOW | O_CLOEXEC, 0644));
    if (!room || flock(room.get(), LOCK_EX) != 0) throw no_write(path);
    if (ftruncate(part.get(), 0) != 0) throw no_write(path);
    if (!make_room(bytes)) return false;
    if (ftruncate(part.get(), bytes) != 0) throw no_write(path);
    return true;
  }

  bool make_room(std::int64_t bytes) {
    std::vector<Copy> copies = all();
    std::int64_t taken = bytes;
    for (const Copy& copy : copies) taken += copy.bytes;
    if (taken <= limit_) return true;
    std::sort(copies.begin(), copies.end(), [](const Copy& a, const Copy& b) { return a.used < b.used; });
    for (const Copy& copy : copies) {
      if (taken > limit_ && remove_copy(copy)) taken -= copy.bytes;
    }
    return taken <= limit_;
  }

  std::vector<Copy> all() const {
    std::vector<Copy> copies;
    for (const fs::path& path : paths::entries(folder_)) {
      if (path.extension() != format::kUseEnding) continue;
      std::optional<Copy> copy = copy_at(path.parent_path() / path.stem(), path);
      if (!copy) continue;
      const std::optional<Copy> part = copy_at("", copy->path.string() + kPartEnding);
      copy->is_whole = true;
      copy->bytes = paths::size_on_disk(copy->path) + (part ? part->bytes : 0);
      copies.push_back(*copy);
    }
    for (const fs::path& path : paths::entries(pieces_)) {
      if (const std::optional<Copy> piece = copy_at(path, path)) copies.push_back(*piece);
    }
    return copies;
  }

  const fs::path folder_;
  const fs::path pieces_;
  const std::int64_t limit_;
  const std::unique_ptr<format::ObjectStore> store_;
  std::atomic<std::int64_t> fetched_{0};
  Recent<std::string, std::string> recent_;
};

class ObjectBytes final : public format::Bytes {
 public:
  ObjectBytes(std::shared_ptr<Cache> cache, config::Object object)
      : cache_(std::move(cache)), object_(std::move(object)) {}

  std::int64_t size() const override { return object_.bytes; }
  std::string identity() const override { return object_.content(); }
  void read(std::int64_t begin, std::int64_t size, void* out) const override {
    if (begin < 0 || size < 0 || begin > object_.bytes - size) {
      throw usage_error("is shorter than its content says", object_.file);
    }
    for (char* to = static_cast<char*>(out); size > 0;) {
      const std::shared_ptr<const std::string> piece = cache_->piece(object_, begin / kPieceBytes);
      const auto at = static_cast<std::size_t>(begin % kPieceBytes);
      const std::size_t some = std::min(static_cast<std::size_t>(size), piece->size() - at);
      std::memcpy(to, piece->data() + at, some);
      to += some;
      begin += static_cast<std::int64_t>(some);
      size -= static_cast<std::int64_t>(some);
    }
  }

 private:
  const std::shared_ptr<Cache> cache_;
  const config::Object object_;
};

std::shared_ptr<const format::Bytes> Cache::open(const config::Object& object) {
  return std::make_shared<const ObjectBytes>(std::static_pointer_cast<Cache>(shared_from_this()), object);
}

}  // namespace
}  // namespace ddp::objects

ddp::format::ObjectCache* ddp_open_object_cache(const std::filesystem::path* folder, std::int64_t limit,
                                                std::int64_t retries) {
  return new ddp::objects::Cache(*folder, limit, retries);
}
