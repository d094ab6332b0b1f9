#include "run_folder.h"

#include <algorithm>
#include <cstdio>
#include <stdexcept>

namespace ddp::system_test {
namespace fs = std::filesystem;

Json json_of(const fs::path& file) {
  Json json = Json::parse(text_of(file), nullptr, /*allow_exceptions=*/false);
  if (!json.is_object()) throw std::runtime_error(file.string() + " is no JSON object: \"" + text_of(file) + "\"");
  return json;
}

std::vector<Json> RunFolder::events(const std::string& event) const {
  std::vector<Json> list;
  const std::string text = text_of(path_ / "metrics.jsonl");
  for (std::size_t begin = 0, end; (end = text.find('\n', begin)) != std::string::npos; begin = end + 1) {
    Json line = Json::parse(text.substr(begin, end - begin));
    if (event.empty() || line.at("event") == event) list.push_back(std::move(line));
  }
  return list;
}

std::int64_t RunFolder::last_step() const {
  const auto steps = events("step");
  return steps.empty() ? 0 : steps.back().at("step").get<std::int64_t>();
}

bool RunFolder::has_each_step_once(std::int64_t steps) const {
  std::int64_t next = 1;
  for (const auto& line : events("step")) {
    if (line.at("step") != next++) return false;
  }
  return next == steps + 1;
}

std::string RunFolder::training() const {
  std::string text;
  for (const auto& line : events("step")) {
    for (const char* key : {"epoch", "step", "loss", "lr", "samples"}) text += line.at(key).dump() + " ";
    text += '\n';
  }
  return text;
}

fs::path RunFolder::checkpoint(std::int64_t step) const {
  char name[32];
  std::snprintf(name, sizeof name, "step-%08lld", static_cast<long long>(step));
  return path_ / "checkpoints" / name;
}

std::vector<std::string> RunFolder::listing() const {
  std::vector<std::string> list;
  for (const auto& entry : fs::recursive_directory_iterator(path_)) {
    const char* mark = entry.is_symlink() ? "@" : entry.is_directory() ? "/" : "";
    std::string name = entry.path().filename().string();
    // The name contains the time and the process.
    if (name.starts_with("events.out.tfevents.")) name = "events.out.tfevents";
    list.push_back(fs::relative(entry.path().parent_path(), path_) / (name + mark));
    if (list.back().starts_with("./")) list.back().erase(0, 2);
  }
  std::sort(list.begin(), list.end());
  return list;
}

}  // namespace ddp::system_test
