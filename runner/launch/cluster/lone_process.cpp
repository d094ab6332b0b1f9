#include "launch/cluster/lone_process.h"

#include <array>

#include "base/log.h"
#include "base/own_command.h"
#include "base/text_number.h"
#include "launch/cluster/environment.h"

namespace ddp::launch {
namespace {

// A launcher that gives each process its place by variables of its own.
struct ForeignLauncher {
  const char* size;
  const char* rank;
  const char* local_rank;  // null: it has none
  const char* local_size;
};

constexpr std::array kForeignLaunchers{ForeignLauncher{"OMPI_COMM_WORLD_SIZE", "OMPI_COMM_WORLD_RANK",
                                                       "OMPI_COMM_WORLD_LOCAL_RANK", "OMPI_COMM_WORLD_LOCAL_SIZE"},
                                       ForeignLauncher{"MV2_COMM_WORLD_SIZE", "MV2_COMM_WORLD_RANK",
                                                       "MV2_COMM_WORLD_LOCAL_RANK", "MV2_COMM_WORLD_LOCAL_SIZE"},
                                       ForeignLauncher{"PMI_SIZE", "PMI_RANK", "MPI_LOCALRANKID", "MPI_LOCALNRANKS"}};

bool is_several(const char* name) { return text_number<int>(environment(name).value_or("")).value_or(1) > 1; }

// One of the two variables is not enough.
void warn_of_half_a_place() {
  const auto rank = environment("RANK");
  const auto size = environment("WORLD_SIZE");
  if (!rank && size && text_number<int>(*size).value_or(1) > 1) {
    log::warn("WORLD_SIZE is " + *size + ", and RANK is not set: this process trains alone");
  }
  if (rank && !size) log::warn("RANK is " + *rank + ", and WORLD_SIZE is not set: this process trains alone");
}

void warn_of_mpirun() {
  for (const ForeignLauncher& l : kForeignLaunchers) {
    if (!is_several(l.size)) continue;
    const auto set = [](const char* name, const char* value) { return std::string(name) + "=$" + value; };
    log::warn(std::string(l.size) + " is " + *environment(l.size) +
              ", and RANK and WORLD_SIZE are not set: each process trains a copy of its own\n"
              "  to train together, start each process as: sh -c '" +
              set("RANK", l.rank) + " " + set("WORLD_SIZE", l.size) + " " + set("LOCAL_RANK", l.local_rank) + " " +
              set("LOCAL_WORLD_SIZE", l.local_size) + " MASTER_ADDR=<host of rank 0> MASTER_PORT=29500 " +
              own_command("run …") + "'");
    return;
  }
}

// Several tasks on one node may be a way to ask for cores, and one process uses all devices of its node.
void warn_of_further_nodes() {
  for (const char* name : {"SLURM_NNODES", "SLURM_JOB_NUM_NODES"}) {
    if (!is_several(name)) continue;
    log::warn("this Slurm job has " + *environment(name) + " nodes (" + name +
              "), and this process trains on one: srun did not start it\n  to train on all of them, start the command "
              "with srun, one task for each rank; " +
              own_command("slurm") + " writes a job script that does so");
    return;
  }
}

}  // namespace

void warn_of_lone_process() {
  warn_of_half_a_place();
  if (environment("RANK") || environment("WORLD_SIZE")) return;
  warn_of_mpirun();
  // A step of one task is what the user asked srun for; a shell of salloc is such a step too.
  if (environment("SLURM_JOB_ID") && !environment("SLURM_STEP_ID")) warn_of_further_nodes();
}

}  // namespace ddp::launch
