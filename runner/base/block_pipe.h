#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

#include "base/error.h"

namespace ddp {

// The process at the other end of a pipe has ended. This is a consequence of its end, not the cause of a failure.
class OtherEndGone : public Error {
 public:
  OtherEndGone() : Error(Fault::training, "the process at the other end is gone", "pipe") {}
};

// Blocks of bytes through a pipe: their size (8 bytes), then the bytes. Size 0 ends the stream. Each function throws
// OtherEndGone if the other process has ended; SIGPIPE must be ignored.
void write_block(int pipe, const void* data, std::uint64_t size);
void end_blocks(int pipe);
// Returns false at the end of the stream.
bool read_block(int pipe, std::string& block);

// Enlarges the pipe's buffer to 1 MiB if the system allows it: both ends wait less.
void widen_pipe(int pipe);

}  // namespace ddp
