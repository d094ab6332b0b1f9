#pragma once

#include <vector>

#include "base/file_descriptor.h"
#include "base/meeting_place.h"
#include "base/shared_mapping.h"

namespace ddp {

// What the ranks of one machine share, made by their parent afresh for each group before it forks them: it has no name,
// and is gone with the last of them.
class GroupMemory {
 public:
  GroupMemory() = default;  // nothing: they talk by other means
  // Throws ddp::Error (training).
  explicit GroupMemory(int ranks);

  // The place, where the ranks find this too.
  MeetingPlace at(MeetingPlace place) const;
  // Descriptors that have to stay open in each rank.
  std::vector<int> kept() const { return file_ ? std::vector{file_.get()} : std::vector<int>{}; }

 private:
  SharedMapping mapping_;  // what collectives go through
  FileDescriptor file_;    // empty: ranks map as much of it as they need; none where the kernel has no nameless files
};

}  // namespace ddp
