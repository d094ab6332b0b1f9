#pragma once

namespace ddp::launch {

// Warns a process that trains alone if the variables of a launcher say that there are several, each of which would
// train a copy of its own, or that its Slurm job has further nodes.
void warn_of_lone_process();

}  // namespace ddp::launch
