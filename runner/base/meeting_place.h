#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

namespace ddp {

// Where the ranks of a group find each other (their c10d store), and where this rank listens for the others.
struct MeetingPlace {
  std::string file = {};  // a file that all ranks see, for c10d's FileStore; empty: a TCPStore
  std::string host = "127.0.0.1";
  std::uint16_t port = 0;
  int listener = -1;        // the rank that hosts the store: a socket that listens there already
  std::string prefix = {};  // of this group's keys, in a store that outlives the group
  void* memory = nullptr;   // shm: what the ranks of this machine share, zeros at first
  std::size_t memory_bytes = 0;
  int shared_file = -1;                   // shm: an empty file without a name that they all have open
  std::string own_address = "127.0.0.1";  // this rank's, as the others reach it
};

}  // namespace ddp
