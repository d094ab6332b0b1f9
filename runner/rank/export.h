#pragma once

#include <cstdint>
#include <string>

#include "config/option/option.h"

namespace ddp::rank {

// The result of an export.
struct Exported {
  std::int64_t error = 0;  // errno; 0: success

  void fields(config::Fields& f) { f({.name = "error"}, error); }
};

// Writes an archive of torch.export with trained weights. The reply is one Exported.
struct ExportRequest {
  using Reply = Exported;
  static constexpr const char* kVerb = "export";

  std::string archive;
  std::string weights;          // a .safetensors file of the checkpoint
  bool evaluates = false;       // write the graph of evaluation mode
  std::int64_t descriptor = 0;  // file descriptor to write to

  void fields(config::Fields& f) {
    f({.name = "archive"}, archive);
    f({.name = "weights"}, weights);
    f({.name = "evaluates"}, evaluates);
    f({.name = "descriptor"}, descriptor);
  }
};

}  // namespace ddp::rank
