#pragma once

#include <functional>

#include <c10/core/Device.h>

#include "dist/process_group.h"
#include "rank/task.h"

namespace ddp::rank {

// The device of this rank, or the first one if it has several.
c10::Device first_device(const Task& task);

// Sets the threads, device and random generator of this process. Call before any random draw.
void prepare_process(const Task& task);

// Makes the process keep freed memory for reuse in the next step. Otherwise the kernel would clear all memory pages of
// large tensors in each step.
void keep_freed_memory();

// Joins this rank's groups; returns none if the experiment trains in one process. Throws ddp::Error (training).
dist::Groups join_groups(const Task& task);

// Runs `body`, which contains collectives. If this rank timed out waiting for others and has no parent that can name
// them, the error names them.
void naming_absent_ranks(const Task& task, const dist::Groups& groups, const std::function<void()>& body);

}  // namespace ddp::rank
