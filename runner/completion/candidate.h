#pragma once

#include <string>
#include <vector>

namespace ddp::completion {

// A candidate for a word of the command line. If it ends in '/', '=' or '.', the word is not complete yet.
struct Candidate {
  std::string text;
  std::string about = {};  // description, for shells that show one

  bool operator==(const Candidate&) const = default;
};

using Candidates = std::vector<Candidate>;

}  // namespace ddp::completion
