#pragma once

#include <string>

#include "base/error.h"

namespace ddp::dist {

// Another rank ended while this rank waited for it: an effect of that rank's end, not the cause of the failure.
class PeerLost : public Error {
 public:
  explicit PeerLost(const std::string& what, const std::string& where = "", const std::string& remedy = "")
      : Error(Fault::training, what, where, remedy) {}
};

// Another rank did not come to a collective in time.
class PeerLate : public Error {
 public:
  explicit PeerLate(const std::string& what, const std::string& where = "", const std::string& remedy = "")
      : Error(Fault::training, what, where, remedy) {}
};

}  // namespace ddp::dist
