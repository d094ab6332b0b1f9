#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

namespace ddp {

// The place where the ranks of a group find each other (their c10d store), and the address where this rank listens.
struct MeetingPlace {
  std::string file = {};  // a file that all ranks see, for c10d's FileStore; empty: a TCPStore
  std::string host = "127.0.0.1";
  std::uint16_t port = 0;
  int listener = -1;        // on the rank that hosts the store: a socket that already listens there
  std::string prefix = {};  // of the group's keys, in a store that outlives the group
  void* memory = nullptr;   // shm: memory that the ranks of this machine share, initially all zeros
  std::size_t memory_bytes = 0;
  int shared_file = -1;                   // shm: an empty file without a name that all these ranks have open
  std::string own_address = "127.0.0.1";  // this rank's address, as other ranks reach it
};

}  // namespace ddp
