#pragma once

#include <map>
#include <string>
#include <vector>

namespace ddp::rank {

// Paths as a person gave them, for the rows of a prediction.
class GivenPaths {
 public:
  // `absolute`: the inputs; `shown`: how the person wrote each of them, or empty.
  GivenPaths(const std::vector<std::string>& absolute, const std::vector<std::string>& shown);

  // Returns the path of a row as it belongs to what was given: a file, the folder that it is in, or the archive of
  // "ARCHIVE, MEMBER".
  std::string operator()(const std::string& path) const;

 private:
  std::map<std::string, std::string> given_;
};

}  // namespace ddp::rank
