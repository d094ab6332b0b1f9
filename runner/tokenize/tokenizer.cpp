#include "tokenize/tokenizer.h"

#include <algorithm>
#include <filesystem>
#include <utility>

#include "base/error.h"
#include "tokenize/utf8.h"

namespace ddp::tokenize {
namespace {

constexpr const char* kKept = "the tokenizer in preprocessing.json";

// Returns "folder" or "file", the option with its path; "": it is chosen by name.
std::string reads(const std::string& name) { return tokenizers().traits(name).value("reads", ""); }

// The part of a text from the source with this number.
std::string_view bytes_of(const Text& text, std::size_t number) {
  const std::size_t begin = text.sources[number].begin;
  const std::size_t end = number + 1 < text.sources.size() ? text.sources[number + 1].begin : text.bytes.size();
  return text.bytes.substr(begin, end - begin);
}

}  // namespace

std::string Text::where(std::size_t place) const {
  const auto after = std::find_if(sources.begin(), sources.end(), [&](const Source& s) { return s.begin > place; });
  if (after == sources.begin()) return "byte " + std::to_string(place);
  const Source& source = *std::prev(after);
  return source.name + ": byte " + std::to_string(place - source.begin);
}

TokenizerRegistry& tokenizers() {
  static TokenizerRegistry instance("tokenizer");
  return instance;
}

std::vector<std::string> tokenizer_names() {
  std::vector<std::string> names = tokenizers().names();
  std::erase_if(names, [](const std::string& name) { return !reads(name).empty(); });
  return names;
}

NamedTokenizer make_tokenizer(const std::string& name_or_path, const Text& text) {
  if (tokenizers().contains(name_or_path) && reads(name_or_path).empty()) {
    return {.name = name_or_path, .tokenizer = tokenizers().build(name_or_path, config::Value::object(), text)};
  }
  std::error_code none;
  const bool file = name_or_path.ends_with(".json") || std::filesystem::is_regular_file(name_or_path, none);
  const std::string kind = file ? "file" : "folder";
  for (const std::string& name : tokenizers().names()) {
    if (reads(name) == kind) return {.name = name, .tokenizer = tokenizers().build(name, {{kind, name_or_path}}, text)};
  }
  throw usage_error("there is no tokenizer \"" + name_or_path + "\"", "dataset.tokenizer");
}

config::Value to_json(const NamedTokenizer& named) {
  config::Value json = {{"name", named.name}};
  json.update(named.tokenizer->options());
  return json;
}

NamedTokenizer tokenizer_from_json(const config::Value& json) {
  const auto name = json.is_object() ? json.find("name") : json.end();
  if (name == json.end() || !name->is_string() || !tokenizers().contains(name->get<std::string>())) {
    throw usage_error("does not name a tokenizer", kKept);
  }
  config::Value options = json;
  options.erase("name");
  if (options.contains(reads(*name))) throw usage_error("has no vocabulary", kKept);
  return {.name = name->get<std::string>(), .tokenizer = tokenizers().build(*name, options, Text())};
}

std::vector<std::int64_t> encode_all(const Tokenizer& tokenizer, const Text& text) {
  std::vector<std::int64_t> all;
  tokenizer.encode(text, [&](std::span<const std::int32_t> ids) { all.insert(all.end(), ids.begin(), ids.end()); });
  return all;
}

void require_utf8(const Text& text) {
  const auto require = [&](std::string_view bytes, std::size_t begin) {
    const std::size_t bad = first_invalid(bytes);
    if (bad == std::string_view::npos) return;
    throw usage_error("is not UTF-8", text.where(begin + bad), "tokenizer = \"byte\" accepts all bytes");
  };
  for (std::size_t i = 0; i < text.sources.size(); ++i) require(bytes_of(text, i), text.sources[i].begin);
  if (text.sources.empty()) require(text.bytes, 0);
}

}  // namespace ddp::tokenize
