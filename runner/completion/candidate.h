#pragma once

#include <string>
#include <vector>

namespace ddp::completion {

// What a word on the command line may become. One that ends in '/', '=' or '.' is not the whole word yet.
struct Candidate {
  std::string text;
  std::string about = {};  // for shells that show it

  bool operator==(const Candidate&) const = default;
};

using Candidates = std::vector<Candidate>;

}  // namespace ddp::completion
