#pragma once

#include <map>
#include <string>
#include <vector>

namespace ddp::rank {

// Converts the paths of predicted rows to the form that the user gave.
class GivenPaths {
 public:
  // `absolute`: the inputs; `shown`: the text that the user wrote for each input, or empty.
  GivenPaths(const std::vector<std::string>& absolute, const std::vector<std::string>& shown);

  // Returns a row's path with its given part as the user wrote it. The given part is the file, a folder above it, or
  // the archive of "ARCHIVE, MEMBER".
  std::string operator()(const std::string& path) const;

 private:
  std::map<std::string, std::string> given_;
};

}  // namespace ddp::rank
