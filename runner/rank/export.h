#pragma once

#include <cstdint>
#include <string>

#include "config/option/option.h"

namespace ddp::rank {

// The result of writing.
struct Exported {
  std::int64_t error = 0;  // errno; 0: all was written

  void fields(config::Fields& f) { f({.name = "error"}, error); }
};

// Asks to write an archive of torch.export with the weights of the checkpoint Task::resume_from. The reply is one
// Exported.
struct ExportRequest {
  using Reply = Exported;
  static constexpr const char* kVerb = "export";

  std::string archive;
  bool evaluates = false;       // the graph becomes the one that evaluation runs
  std::int64_t descriptor = 0;  // of the file to write

  void fields(config::Fields& f) {
    f({.name = "archive"}, archive);
    f({.name = "evaluates"}, evaluates);
    f({.name = "descriptor"}, descriptor);
  }
};

}  // namespace ddp::rank
