#pragma once

#include <set>
#include <string>
#include <utility>
#include <vector>

#include "base/error.h"
#include "config/text/source.h"

namespace ddp::config {

// Collects the mistakes of an experiment, to report all of them in one error.
class Problems {
 public:
  void add(SourceRange place, const std::string& what, std::string remedy = "");
  bool empty() const { return all_.empty(); }

  // Returns one error with every mistake in the order of the files; if there are very many, the first ones.
  Error error() const;

 private:
  struct Problem {
    SourceRange place;
    std::string what;
    std::string remedy;
  };
  // The places and texts that were added.
  using Known = std::pair<SourceRange, std::string>;
  struct KnownBefore {
    bool operator()(const Known& a, const Known& b) const;
  };

  std::vector<Problem> all_;
  std::set<Known, KnownBefore> known_;
};

}  // namespace ddp::config
