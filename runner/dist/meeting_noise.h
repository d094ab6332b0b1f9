#pragma once

namespace ddp::dist {

// Leaves out of this process's stderr what c10d's store logs about its connections: that an address has no host name,
// which is harmless, and lost or missing connections, sometimes with a C++ backtrace. The errors of join_process_groups
// and of the collectives say the same with the rank's number. All other messages of LibTorch stay. A user who sets
// TORCH_CPP_LOG_LEVEL sees everything.
void leave_out_meeting_noise();

}  // namespace ddp::dist
