#pragma once

#include "base/file_descriptor.h"

namespace ddp::launch {

// A pipe within this process; no program that is started inherits an end of it.
struct Pipe {
  FileDescriptor from;
  FileDescriptor to;
};

// `reads_wait`: who reads waits until there is something; else it is told EAGAIN. Throws ddp::Error (training).
Pipe make_pipe(bool reads_wait = true);

}  // namespace ddp::launch
