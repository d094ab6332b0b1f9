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

// Asks to write an archive of torch.export with trained weights. The reply is one Exported.
struct ExportRequest {
  using Reply = Exported;
  static constexpr const char* kVerb = "export";

  std::string archive;
  std::string weights;          // a .safetensors file of the checkpoint
  bool evaluates = false;       // the graph becomes the one that evaluation runs
  std::int64_t descriptor = 0;  // of the file to write

  void fields(config::Fields& f) {
    f({.name = "archive"}, archive);
    f({.name = "weights"}, weights);
    f({.name = "evaluates"}, evaluates);
    f({.name = "descriptor"}, descriptor);
  }
};

}  // namespace ddp::rank
