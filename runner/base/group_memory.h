#pragma once

#include <vector>

#include "base/file_descriptor.h"
#include "base/meeting_place.h"
#include "base/shared_mapping.h"

namespace ddp {

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
