#include "report/read/config_file.h"

#include <algorithm>
#include <stdexcept>

#include "base/error.h"
#include "config/check/problems.h"
#include "config/text/node.h"
#include "config/text/toml_reader.h"
#include "record/file/atomic_file.h"

namespace ddp::report {
namespace {

constexpr std::uint64_t kLargestConfig = 1 << 20;
constexpr std::size_t kMostKeys = 1000;  // in one table: a lookup scans all of them

void require_few_keys(const config::Node& node) {
  if (node.entries.size() > kMostKeys) throw std::runtime_error("it has too many keys");
  for (const config::Node& item : node.items) require_few_keys(item);
  for (const auto& [name, entry] : node.entries) require_few_keys(entry);
}

// Replaces `loss = "mse"` by a table with that name.
void write_out_short_forms(config::Value& config) {
  for (const char* kind : {"model", "dataset", "loss", "optimizer", "scheduler"}) {
    const auto section = config.find(kind);
    if (section != config.end() && section->is_string()) *section = config::Value{{"name", *section}};
  }
}

}  // namespace

config::Value read_config(const std::filesystem::path& file) {
  const std::string text = record::read_text(file, kLargestConfig);
  config::Problems problems;
  const auto root = config::parse_toml(config::Source::file(file, text, 0), text, problems);
  if (!root) throw usage_error("is damaged: it is not TOML", file.string());
  try {
    require_few_keys(*root);
    config::Value config = config::to_value(*root);
    write_out_short_forms(config);
    return config;
  } catch (const std::runtime_error& error) {
    throw usage_error(std::string("is damaged: ") + error.what(), file.string());
  }
}

const config::Value* value_at(const config::Value& config, const std::string& key) {
  const config::Value* value = &config;
  for (std::size_t begin = 0; begin <= key.size();) {
    const std::size_t end = std::min(key.find('.', begin), key.size());
    if (!value->is_object()) return nullptr;
    const auto found = value->find(key.substr(begin, end - begin));
    if (found == value->end()) return nullptr;
    value = &*found;
    begin = end + 1;
  }
  if (!value->is_object()) return value;
  const auto name = value->find("name");
  return name == value->end() ? nullptr : &*name;
}

}  // namespace ddp::report
