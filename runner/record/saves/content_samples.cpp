#include "record/saves/content_samples.h"

#include <algorithm>
#include <filesystem>
#include <string>
#include <vector>

#include "base/error.h"
#include "record/file/hash.h"
#include "record/file/input_file.h"
#include "record/saves/model_files.h"

namespace ddp::record {
namespace {

constexpr std::ptrdiff_t kMostFilesRead = 64;
constexpr std::uint64_t kSamples = 64;
constexpr std::uint64_t kSampleSize = 64 << 10;

// Pieces at equal distances, the first and the last bytes among them: other rows, or the same rows in another order,
// change some of them. A start reads 4 MiB at most of each file.
std::string content_of(const std::string& path) try {
  const InputFile in(path);
  if (in.size() <= kSamples * kSampleSize) return hash_hex_of(path);
  std::string read(kSamples * kSampleSize, '\0');
  for (std::uint64_t n = 0; n < kSamples; ++n) {
    in.read((in.size() - kSampleSize) / (kSamples - 1) * n, read.data() + n * kSampleSize, kSampleSize);
  }
  return hash_hex(read);
} catch (const Error&) {
  return "";  // the data's own error names the file
}

// Files of the model may have any name.
std::string name_of(const config::Value& file) {
  const std::string key = file["key"].get<std::string>();
  const bool model = is_model_file({.key = key, .path = {}});
  return model ? key : key + " " + std::filesystem::path(file["path"].get<std::string>()).filename().string();
}

std::string place_of(const config::Value& file) {
  return file["key"].get<std::string>() + ": " + file["path"].get<std::string>() + " ";
}

// Returns "" if both are the same.
std::string change_of_sample(const config::Value& first, const config::Value& second) {
  if (name_of(first) != name_of(second)) return "is there in place of " + first["path"].get<std::string>();
  const char* counted = first.contains("files") && second.contains("files") ? "files" : "bytes";
  if (first[counted] != second[counted]) {
    return "has " + second[counted].dump() + " " + counted + ", not " + first[counted].dump();
  }
  if (first["bytes"] != second["bytes"]) return "has files of other sizes";
  return first["content"] == second["content"] ? "" : "has another content of the same size";
}

}  // namespace

config::Value content_samples(const std::vector<DataFile>& files) {
  const auto read = std::count_if(files.begin(), files.end(), [](const auto& file) { return !is_model_file(file); });
  config::Value samples = config::Value::array();
  for (const DataFile& file : files) {
    std::string content = is_model_file(file) ? file.hash : "";
    if (!is_model_file(file) && file.files == 0 && read <= kMostFilesRead) content = content_of(file.path);
    samples.push_back({{"key", file.key}, {"path", file.path}, {"bytes", file.bytes}, {"content", content}});
    if (file.files > 0) samples.back()["files"] = file.files;
  }
  return samples;
}

std::string hash_of_samples(const config::Value& samples) {
  std::string text;
  for (const config::Value& file : samples) {
    text += name_of(file) + '\0' + file["bytes"].dump() + " " + file.value("files", config::Value()).dump() + " " +
            file["content"].get<std::string>() + '\0';
  }
  return hash_hex(text);
}

std::string sample_difference(const config::Value& first, const config::Value& second) {
  const std::size_t both = std::min(first.size(), second.size());
  for (std::size_t i = 0; i < both; ++i) {
    const std::string change = change_of_sample(first[i], second[i]);
    if (!change.empty()) return place_of(second[i]) + change;
  }
  if (first.size() == second.size()) return "";
  return second.size() > both ? place_of(second[both]) + "is there only" : place_of(first[both]) + "is missing";
}

}  // namespace ddp::record
