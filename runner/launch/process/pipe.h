#pragma once

#include "base/file_descriptor.h"

namespace ddp::launch {

// A pipe within this process; started programs do not inherit its ends.
struct Pipe {
  FileDescriptor from;
  FileDescriptor to;
};

// `reads_wait`: a read blocks until data come; otherwise it fails with EAGAIN. Throws ddp::Error (training).
Pipe make_pipe(bool reads_wait = true);

}  // namespace ddp::launch
