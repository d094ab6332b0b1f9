#pragma once

#include <cstdint>
#include <string>

#include "base/file_descriptor.h"

namespace ddp::launch {

// Where the ranks of one machine meet: a socket on loopback, on a port that the kernel chose, so that two runs
// never collide. Rank 0 takes it over for its store.
struct MeetingPoint {
  FileDescriptor listener;
  std::string host = "127.0.0.1";
  std::uint16_t port = 0;
};

// Throws ddp::Error (training).
MeetingPoint make_meeting_point();

}  // namespace ddp::launch
