#pragma once

#include <string>

#include "base/error.h"

namespace ddp {

// Returns the text of the ddp::Error that the function throws; "" if it throws none.
template <class Function>
std::string error_of(Function function) {
  try {
    function();
    return "";
  } catch (const Error& error) {
    return error.what();
  }
}

}  // namespace ddp
