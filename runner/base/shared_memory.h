#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "base/file_descriptor.h"

namespace ddp {

// Page size; direct I/O writes whole pages.
inline constexpr std::uint64_t kPage = 4096;

constexpr std::uint64_t in_pages(std::uint64_t bytes) { return (bytes + kPage - 1) / kPage * kPage; }

// Anonymous memory, all zeros, that a process shares with the children it forks later. It has no name, so no other
// process can open it. It is freed when the last process that maps it ends. A memory page counts once it is written to.
class SharedMapping {
 public:
  SharedMapping() = default;
  // Throws ddp::Error (training).
  explicit SharedMapping(std::size_t bytes);
  ~SharedMapping();
  SharedMapping(SharedMapping&& other) noexcept;
  SharedMapping& operator=(SharedMapping&& other) noexcept;

  void* data() const { return data_; }
  std::size_t size() const { return size_; }

 private:
  void* data_ = nullptr;
  std::size_t size_ = 0;
};

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

// Memory that the ranks of one machine share. Their parent creates it for each group before it forks the ranks. It has
// no name and is freed when the last rank ends.
class GroupMemory {
 public:
  GroupMemory() = default;  // empty: the ranks communicate by other means
  // Throws ddp::Error (training).
  explicit GroupMemory(int ranks);

  // Returns the place, extended by this memory.
  MeetingPlace at(MeetingPlace place) const;
  // The descriptors that must stay open in each rank.
  std::vector<int> kept() const { return file_ ? std::vector{file_.get()} : std::vector<int>{}; }

 private:
  SharedMapping mapping_;  // for collectives
  FileDescriptor file_;    // empty file; ranks map as much of it as they need. Not open if the kernel has no memfd
};

}  // namespace ddp
