#pragma once

#include "dist/membership.h"

namespace ddp::dist {

// Joins the groups; returns when all ranks have joined. Throws ddp::Error (training) on timeout, or if the backend is
// not available. `control`: make a control group.
Groups join_process_groups(const Membership& membership, bool control);

// Shuts NCCL down; no collective may be in progress. Gloo ends with the group. A null group means a world size of 1.
void leave(const Group& group);

}  // namespace ddp::dist
