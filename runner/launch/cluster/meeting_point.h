#pragma once

#include <string>

#include "base/file_descriptor.h"
#include "base/meeting_place.h"
#include "launch/cluster/address.h"
#include "launch/cluster/launcher.h"
#include "launch/cluster/meeting_file.h"
#include "launch/plan/plan.h"

namespace ddp::launch {

// The place where the ranks of a run meet: a socket that listens on one address alone, which rank 0 takes over for its
// store; or a file.
struct MeetingPoint {
  FileDescriptor listener;
  Address address;
  MeetingFile file;

  // The place, for a rank of this machine.
  MeetingPlace place_for(int rank) const;
};

// On one machine: a socket on loopback, on a port that the kernel chooses so that two runs never collide, unless the
// launch names another address or a file. On several machines: a socket at `own_ip`. No socket if the ranks share
// memory. Throws ddp::Error (usage).
MeetingPoint make_meeting_point(const Plan& plan, const Launch& launch, const std::string& own_ip);

// Returns the place where ranks started by torchrun or srun meet, for one of these ranks. Rank 0 hosts the store,
// unless the launcher does; `listener` is then rank 0's socket. The other ranks wait until rank 0 listens, at most for
// distributed.timeout. Throws ddp::Error: (usage) if rank 0 cannot listen there, (training) if rank 0 does not come.
MeetingPlace launched_meeting_place(const Plan& plan, const Launch& launch, FileDescriptor& listener);

}  // namespace ddp::launch
