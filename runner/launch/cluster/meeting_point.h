#pragma once

#include <string>

#include "base/file_descriptor.h"
#include "base/meeting_place.h"
#include "launch/cluster/address.h"
#include "launch/cluster/launcher.h"
#include "launch/cluster/meeting_file.h"
#include "launch/plan/plan.h"

namespace ddp::launch {

// Where the ranks of a run meet: a socket that listens on one address alone, which rank 0 takes over for its store; or
// a file.
struct MeetingPoint {
  FileDescriptor listener;
  Address address;
  MeetingFile file;

  // As a rank of this machine gets there.
  MeetingPlace place_for(int rank) const;
};

// On one machine a socket on loopback, on a port that the kernel chose, so that two runs never collide, unless the
// launch names another address or a file; over several, one at `own_ip`. None where ranks share memory. Throws
// ddp::Error (usage).
MeetingPoint make_meeting_point(const Plan& plan, const Launch& launch, const std::string& own_ip);

// Where the ranks that torchrun or srun started meet, as one of them gets there. Rank 0 hosts the store, unless the
// launcher does; `listener` is its socket then. Throws ddp::Error (usage).
MeetingPlace launched_meeting_place(const Launch& launch, FileDescriptor& listener);

}  // namespace ddp::launch
