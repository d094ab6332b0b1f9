#include "ranks.h"

#include <sys/wait.h>
#include <unistd.h>
#include <cstdio>
#include <cstdlib>
#include <filesystem>

#include <ATen/Parallel.h>
#include <torch/csrc/distributed/c10d/ProcessGroup.hpp>

#include "base/shared_memory.h"

int run_ranks(int ranks, const std::string& backend,
              const std::function<void(int rank, const ddp::dist::Group&)>& body) {
  char folder[] = "/tmp/ddp-exp-bench-XXXXXX";
  if (mkdtemp(folder) == nullptr) return 1;
  const ddp::GroupMemory memory(ranks);
  const ddp::MeetingPlace meeting = memory.at({.file = std::string(folder) + "/store"});
  for (int rank = 0; rank < ranks; ++rank) {
    if (fork() != 0) continue;
    at::set_num_threads(1);
    ddp::record::SharedProgress progress(ranks);
    const auto groups = ddp::dist::join_process_groups({.backend = backend,
                                                        .rank = rank,
                                                        .world_size = ranks,
                                                        .ranks_here = ranks,
                                                        .device = "cpu",
                                                        .meeting = meeting,
                                                        .progress = progress.rank(rank)},
                                                       /*control=*/false);
    body(rank, groups.main);
    std::fflush(stdout);
    groups.main->barrier()->wait();
    _exit(0);
  }
  bool well = true;
  for (int status = 0; wait(&status) > 0;) well = well && status == 0;
  std::filesystem::remove_all(folder);
  return well ? 0 : 1;
}
