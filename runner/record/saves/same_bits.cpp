#include "record/saves/same_bits.h"

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstring>
#include <string_view>

#include "base/error.h"
#include "config/option/value.h"
#include "record/file/atomic_file.h"
#include "record/saves/checkpoint_settings.h"

namespace ddp::record {
namespace fs = std::filesystem;
namespace {

using config::Value;

// Members of state.json that say when, where and why a checkpoint was saved.
constexpr std::array<std::string_view, 7> kOfTheSave{"seconds", "ranks",    "config_hash", "data",
                                                     "reason",  "ended_by", "buckets"};
constexpr std::uint64_t kLargest = std::uint64_t{1} << 40;

// A safetensors file: the length of its header, the header, and the bytes of the tensors.
struct Tensors {
  explicit Tensors(const fs::path& file) : text(read_text(file, kLargest)) {
    std::uint64_t length = 0;
    if (text.size() < sizeof length) throw training_error("is too short", file.string());
    std::memcpy(&length, text.data(), sizeof length);
    begin = sizeof length + std::min<std::uint64_t>(length, text.size() - sizeof length);
    header = Value::parse(text.substr(sizeof length, begin - sizeof length));
  }
  std::string_view bytes_of(const Value& tensor) const {
    const std::size_t from = begin + tensor.at("data_offsets").at(0).get<std::size_t>();
    const std::size_t to = begin + tensor.at("data_offsets").at(1).get<std::size_t>();
    return std::string_view(text).substr(from, to - from);
  }

  std::string text;
  std::size_t begin = 0;
  Value header;
};

// Returns the name of the first tensor that differs. The files have different hashes.
std::string first_other_tensor(const fs::path& file, const fs::path& other) {
  if (file.extension() != ".safetensors") return "";
  const Tensors mine(file);
  const Tensors its(other);
  for (const auto& [name, tensor] : mine.header.items()) {
    if (name.starts_with("__")) continue;
    const auto found = its.header.find(name);
    if (found == its.header.end() || found->at("shape") != tensor.at("shape") ||
        found->at("dtype") != tensor.at("dtype") || mine.bytes_of(tensor) != its.bytes_of(*found)) {
      return name;
    }
  }
  return "";
}

std::string first_other_file(const fs::path& checkpoint, const fs::path& other, const Value& mine, const Value& its) {
  for (const Value* files : {&mine, &its}) {
    for (const auto& [name, digest] : files->items()) {
      // The settings name devices and paths.
      if (fs::path(name).extension() == ".toml" || mine.value(name, Value()) == its.value(name, Value())) continue;
      if (!mine.contains(name) || !its.contains(name)) return name + ": one of them lacks it";
      const std::string tensor = first_other_tensor(checkpoint / name, other / name);
      return name + (tensor.empty() ? "" : ": " + tensor);
    }
  }
  return "";
}

}  // namespace

std::string first_other_bits(const fs::path& checkpoint, const fs::path& other) try {
  const Value mine = Value::parse(read_text(checkpoint / "state.json"));
  const Value its = Value::parse(read_text(other / "state.json"));
  // Another number of ranks explains everything else.
  if (mine.at("world_size") != its.at("world_size")) {
    return "state.json: world_size, " + mine.at("world_size").dump() + " and " + its.at("world_size").dump();
  }
  if (std::string file = first_other_file(checkpoint, other, mine.at("files"), its.at("files")); !file.empty()) {
    return file;
  }
  // Only the end of a run by its time measures at such a step.
  const bool at_any_step = mine.value("ended_by", "") == kMaxTime;
  for (const Value* members : {&mine, &its}) {
    for (const auto& [name, value] : members->items()) {
      if (at_any_step && name == "metric") continue;
      const bool counts = name != "files" && std::find(kOfTheSave.begin(), kOfTheSave.end(), name) == kOfTheSave.end();
      if (counts && mine.value(name, Value()) != its.value(name, Value())) return "state.json: " + name;
    }
  }
  return "";
} catch (const Value::exception& error) {
  throw training_error("is damaged: " + std::string(error.what()), checkpoint.string());
}

}  // namespace ddp::record
