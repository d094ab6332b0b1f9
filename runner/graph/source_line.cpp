#include "graph/source_line.h"

#include <algorithm>
#include <string_view>

#include "config/text/source.h"

namespace ddp::graph {
namespace {

constexpr std::size_t kLongestTrace = 1 << 16;
constexpr std::size_t kLongestCode = 200;

// Takes the text up to a mark off the front, and the mark. All of it where there is no mark.
std::string_view take_until(std::string_view& text, std::string_view mark) {
  const std::size_t end = text.find(mark);
  const std::string_view taken = text.substr(0, end);
  text = end == std::string_view::npos ? std::string_view() : text.substr(end + mark.size());
  return taken;
}

std::string_view trimmed(std::string_view text) {
  const std::size_t begin = text.find_first_not_of(" \t");
  return begin == std::string_view::npos ? std::string_view() : text.substr(begin, kLongestCode);
}

}  // namespace

std::string source_line(const nlohmann::json& node) {
  if (!node.contains("metadata") || !node.at("metadata").is_object()) return "";
  const auto& metadata = node.at("metadata");
  if (!metadata.contains("stack_trace") || !metadata.at("stack_trace").is_string()) return "";
  const auto& trace = metadata.at("stack_trace").get_ref<const std::string&>();
  std::string_view rest = std::string_view(trace).substr(0, kLongestTrace);
  std::string line;
  bool found_users = false;
  // A frame is: File "model.py", line 12, in forward, and on the next line the code.
  for (take_until(rest, "File \""); !rest.empty(); take_until(rest, "File \"")) {
    const std::string_view file = take_until(rest, "\", line ");
    const std::string_view number = take_until(rest, ",");
    take_until(rest, "\n");
    const std::string_view code = trimmed(rest.substr(0, rest.find('\n')));
    // Code that torch makes has no file: "<eval_with_key>.11".
    const bool is_users = file.find("/torch/") == std::string_view::npos && !file.starts_with('<');
    if (found_users && !is_users) continue;
    found_users = found_users || is_users;
    line = std::string(file.substr(file.rfind('/') + 1)) + ", line " + std::string(number);
    if (!code.empty()) line += ": " + std::string(code);
  }
  return config::printable(line);
}

}  // namespace ddp::graph
