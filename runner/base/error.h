#pragma once

#include <stdexcept>
#include <string>

namespace ddp {

// The kind of a failure; it decides the exit code (2 for usage, 1 for training).
enum class Fault { usage, training };

// The one exception type: what went wrong, where, and what to do about it. The whole text for a person is `what()`.
class Error : public std::runtime_error {
 public:
  Error(Fault fault, const std::string& what, const std::string& where = "", const std::string& remedy = "");

  Fault fault() const { return fault_; }
  // The parts of the text, for a caller that knows the place more exactly.
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

// A wrong command line, experiment file or environment: nothing has been started.
Error usage_error(const std::string& what, const std::string& where = "", const std::string& remedy = "");

// A failure during training.
Error training_error(const std::string& what, const std::string& where = "", const std::string& remedy = "");

}  // namespace ddp
