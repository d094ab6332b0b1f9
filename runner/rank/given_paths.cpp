#include "rank/given_paths.h"

namespace ddp::rank {
namespace {

// Returns "folder" for "folder/".
std::string without_end(std::string path) {
  while (path.size() > 1 && path.back() == '/') path.pop_back();
  return path;
}

}  // namespace

GivenPaths::GivenPaths(const std::vector<std::string>& absolute, const std::vector<std::string>& shown) {
  for (std::size_t i = 0; i < shown.size(); ++i) given_.emplace(without_end(absolute[i]), without_end(shown[i]));
}

std::string GivenPaths::operator()(const std::string& path) const {
  const std::size_t comma = path.find(", ");
  const auto archive = comma == std::string::npos ? given_.end() : given_.find(path.substr(0, comma));
  if (archive != given_.end()) return archive->second + path.substr(comma);
  for (std::size_t end = path.size(); end != std::string::npos && end > 0; end = path.rfind('/', end - 1)) {
    const auto found = given_.find(path.substr(0, end));
    if (found != given_.end()) return found->second + path.substr(end);
  }
  return path;
}

}  // namespace ddp::rank
