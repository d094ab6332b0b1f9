#pragma once

#include <string>
#include <vector>

#include "base/error.h"
#include "config/text/source.h"

namespace ddp::config {

// Collects the mistakes of an experiment, so that all are told at once.
class Problems {
 public:
  void add(Place place, const std::string& what, std::string remedy = "");
  bool empty() const { return all_.empty(); }

  // One error with every mistake, in the order of the files; of very many, the first.
  Error error() const;

 private:
  struct Problem {
    Place place;
    std::string what;
    std::string remedy;
  };
  std::vector<Problem> all_;
};

}  // namespace ddp::config
