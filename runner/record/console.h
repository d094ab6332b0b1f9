#pragma once

#include <string>

namespace ddp::record {

// A rank's messages to the person at the terminal: whole lines through a pipe to the parent, which shows them without
// tearing its live line. Each line also goes to the rank's own log.
class Console {
 public:
  explicit Console(int pipe) : pipe_(pipe) {}
  void line(const std::string& text) const;
  // A line that the terminal shows only with --verbose.
  void detail(const std::string& text) const;

 private:
  void tell(const std::string& text) const;

  int pipe_;
};

}  // namespace ddp::record
