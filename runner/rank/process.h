#pragma once

#include <functional>

#include <c10/core/Device.h>

#include "dist/process_group.h"
#include "rank/task.h"

namespace ddp::rank {

// The device that this rank computes on, or begins on where it has several.
c10::Device first_device(const Task& task);

// Threads, device and generator of this process. What draws from the generator comes after this.
void prepare_process(const Task& task);

// From here on what is freed stays with this process: a step takes what the one before has freed. The kernel would
// clear every page of a large tensor anew, in each step.
void keep_freed_memory();

// Joins this rank's groups; none where the experiment trains in one process. Throws ddp::Error (training).
dist::Groups join_groups(const Task& task);

// Does what the ranks do together. Where this one waited in vain for others, and no parent sees for which, the error
// names them.
void naming_absent_ranks(const Task& task, const dist::Groups& groups, const std::function<void()>& body);

}  // namespace ddp::rank
