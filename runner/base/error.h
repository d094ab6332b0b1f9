#pragma once

#include <stdexcept>
#include <string>

namespace ddp {

// Which of the two kinds of failure this is; it decides the exit code (spec: 2 and 1).
enum class Fault { usage, training };

// The one exception type: what went wrong, where, and what to do about it.
// `what()` is the whole text as a person reads it.
class Error : public std::runtime_error {
 public:
  Error(Fault fault, const std::string& what, const std::string& where = "", const std::string& remedy = "");

  Fault fault() const { return fault_; }
  // The parts of the text, for one who can tell the place better.
  const std::string& summary() const { return summary_; }
  const std::string& where() const { return where_; }
  const std::string& remedy() const { return remedy_; }
  int exit_code() const { return fault_ == Fault::usage ? 2 : 1; }

 private:
  Fault fault_;
  std::string summary_;
  std::string where_;
  std::string remedy_;
};

// A wrong command line, experiment file or environment: nothing was started.
Error usage_error(const std::string& what, const std::string& where = "", const std::string& remedy = "");

// Something that failed while training.
Error training_error(const std::string& what, const std::string& where = "", const std::string& remedy = "");

}  // namespace ddp
