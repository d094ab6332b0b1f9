#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

#include "base/error.h"

namespace ddp {

// The process at the other end of a pipe is gone: an effect of its end, not the cause of a failure.
class OtherEndGone : public Error {
 public:
  OtherEndGone() : Error(Fault::training, "the process at the other end is gone", "pipe") {}
};

// Blocks of bytes through a pipe: their size (8 bytes), then the bytes. Size 0 is the end. Each throws OtherEndGone
// where it is; the signal SIGPIPE must be ignored.
void write_block(int pipe, const void* data, std::uint64_t size);
void end_blocks(int pipe);
// Returns false at the end.
bool read_block(int pipe, std::string& block);

// Lets a pipe hold a megabyte where the system allows it, so that both ends wait less.
void widen_pipe(int pipe);

}  // namespace ddp
