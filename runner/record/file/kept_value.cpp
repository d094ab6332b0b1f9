#include "record/file/kept_value.h"

#include <cstdint>
#include <filesystem>

#include "base/error.h"
#include "base/installation.h"
#include "base/paths.h"
#include "record/file/atomic_file.h"
#include "record/file/input_file.h"

namespace ddp::record {
namespace {

namespace fs = std::filesystem;

constexpr std::uint64_t kMostKeptBytes = 64 << 20;  // of a value

// Without HOME the cache folder is a relative path, and nothing may be kept in the working folder.
fs::path kept_at(const std::string& folder, const std::string& key) {
  const fs::path cache = cache_folder();
  return key.empty() || cache.is_relative() ? fs::path() : cache / folder / key;
}

}  // namespace

std::optional<config::Value> find_kept(const std::string& folder, const std::string& key) try {
  const fs::path entry = kept_at(folder, key);
  if (entry.empty()) return {};
  const std::string text = read_text(entry, kMostKeptBytes);
  const std::size_t end = text.find('\n');
  if (end == std::string::npos || hash_hex(text.substr(end + 1)) != text.substr(0, end)) return {};
  config::Value value = config::Value::parse(text.substr(end + 1), nullptr, /*allow_exceptions=*/false);
  if (!value.is_object()) return {};
  return value;
} catch (const Error&) {
  return {};
}

void keep_value(const std::string& folder, const std::string& key, const config::Value& value, std::size_t most) try {
  const fs::path entry = kept_at(folder, key);
  if (entry.empty()) return;
  const std::string text = value.dump(-1, ' ', false, config::Value::error_handler_t::replace);
  paths::make_folders(entry.parent_path());
  write_atomically(entry, hash_hex(text) + "\n" + text);
  paths::remove_oldest(entry.parent_path(), "", {}, most);
} catch (const Error&) {
  return;
}

}  // namespace ddp::record
