#pragma once

#include <string>
#include <utility>
#include <vector>

#include "config/load.h"

namespace ddp::launch {

// Collects one line for each setting that cannot take effect.
class Ineffective {
 public:
  explicit Ineffective(const config::Loaded& loaded) : loaded_(loaded) {}

  void add_line(std::string line) { lines_.push_back(std::move(line)); }
  void add(const std::string& key, const std::string& why, const std::string& remedy) {
    lines_.push_back(loaded_.where(key) + ": \"" + key + "\" " + why + "; " + remedy);
  }
  std::vector<std::string> take() { return std::move(lines_); }

 private:
  const config::Loaded& loaded_;
  std::vector<std::string> lines_;
};

}  // namespace ddp::launch
