#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <string>

namespace ddp::format {

// The bytes of a file, wherever it is: on this machine, or behind a URL.
class Bytes {
 public:
  virtual ~Bytes() = default;
  virtual std::int64_t size() const = 0;
  // Changes with the content.
  virtual std::string identity() const = 0;
  // Reads bytes from `begin`. Thread-safe. Throws ddp::Error (usage).
  virtual void read(std::int64_t begin, std::int64_t size, void* out) const = 0;
};

// Opens the file of a path, or the object of a URL. Throws ddp::Error (usage).
using OpenBytes = std::function<std::shared_ptr<const Bytes>(const std::filesystem::path& path)>;

// Opens a regular file of this machine.
std::shared_ptr<const Bytes> open_local(const std::filesystem::path& path);

}  // namespace ddp::format
