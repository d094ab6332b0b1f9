#include "model/name_pattern.h"

#include <fnmatch.h>

namespace ddp::model {

bool matches_name(const std::string& pattern, const std::string& name) {
  return fnmatch(pattern.c_str(), name.c_str(), FNM_NOESCAPE) == 0;
}

}  // namespace ddp::model
