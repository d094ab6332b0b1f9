#include "base/error.h"

namespace ddp {
namespace {

std::string compose(const std::string& what, const std::string& where, const std::string& remedy) {
  std::string text = where.empty() ? what : where + ": " + what;
  if (!remedy.empty()) text += "\n  " + remedy;
  return text;
}

}  // namespace

Error::Error(Fault fault, const std::string& what, const std::string& where, const std::string& remedy)
    : std::runtime_error(compose(what, where, remedy)), fault_(fault), summary_(what), where_(where), remedy_(remedy) {}

Error usage_error(const std::string& what, const std::string& where, const std::string& remedy) {
  return Error(Fault::usage, what, where, remedy);
}

Error training_error(const std::string& what, const std::string& where, const std::string& remedy) {
  return Error(Fault::training, what, where, remedy);
}

}  // namespace ddp
