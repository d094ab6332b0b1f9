#pragma once

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
  // What has to stay open in each rank; -1: nothing. Where the kernel has no nameless files it is that, too.
  int descriptor() const { return file_.get(); }

 private:
  SharedMapping mapping_;  // what collectives go through
  FileDescriptor file_;    // empty: ranks map as much of it as they find they need
};

}  // namespace ddp
