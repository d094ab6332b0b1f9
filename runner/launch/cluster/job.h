#pragma once

#include <unistd.h>
#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "base/file_descriptor.h"
#include "base/shared_memory.h"
#include "launch/cluster/node_link.h"
#include "launch/plan/plan.h"
#include "launch/watch/supervisor.h"
#include "rank/task.h"
#include "record/saves/data_files.h"

namespace ddp::launch {

// A file through which ranks or nodes meet; the destructor removes it. c10d's FileStore (FileStore.cpp, ~FileStore)
// also removes its own file, but not if a rank was killed, nor if its last users leave at the same time.
class MeetingFile {
 public:
  MeetingFile() = default;  // none
  explicit MeetingFile(std::string path) : path_(std::move(path)) {}
  MeetingFile(MeetingFile&& other) noexcept : path_(std::exchange(other.path_, {})) {}
  MeetingFile& operator=(MeetingFile&& other) noexcept {
    std::swap(path_, other.path_);
    return *this;
  }
  ~MeetingFile() {
    if (!path_.empty()) unlink(path_.c_str());
  }

  const std::string& path() const { return path_; }

 private:
  std::string path_;
};

// The place where the ranks of a run meet: a socket that listens on one address alone, which rank 0 takes over for its
// store; or a file.
struct MeetingPoint {
  FileDescriptor listener;
  Address address;
  MeetingFile file;
  std::string own_ip = address.ip;  // of this machine, as other ranks reach it

  // The place, for a rank of this machine.
  MeetingPlace place_for(int rank) const;
};

// On one machine: a socket on loopback, on a port that the kernel chooses so that two runs never collide, unless the
// launch names another address or a file. On several machines: a socket at `own_ip`. No socket if the ranks share
// memory. Throws ddp::Error (usage).
MeetingPoint make_meeting_point(const Plan& plan, const std::string& own_ip);

// The common work of a plan's ranks: training, or measuring the network.
struct Job {
  const Plan& plan;
  std::function<int(const rank::Task&)> as_rank;    // in a process of its own; returns its exit code
  bool saves = true;                                // the ranks handle a first stop signal themselves, by saving
  rank::Task task = {};                             // the part that is the same on every rank of this machine
  std::vector<int> kept = {};                       // descriptors that stay open in every rank of this machine
  std::vector<record::DataSample> data = {};        // the files that this machine reads
  std::function<RankOutput(int rank)> output = {};  // of any rank; on node 0 including other nodes' ranks
};

// Returns the task of a rank of this machine: `same`, with the rank's own members set. The meeting place stays unset.
rank::Task task_of(const Plan& plan, int local_rank, record::SharedProgress& shared, rank::Task same = {});

// Returns the task of this process, which is one rank that torchrun or srun started. Rank 0 hosts the store, unless the
// launcher does; `listener` is then rank 0's socket. The other ranks wait until rank 0 listens, at most for
// distributed.timeout. Throws ddp::Error: (usage) if rank 0 cannot listen there, (training) if rank 0 does not come.
rank::Task launched_task(const Plan& plan, record::SharedProgress& shared, FileDescriptor& listener);

// Forks the ranks of this machine. `together`: all ranks are on this machine.
void start_ranks(const Job& job, const MeetingPoint& meeting, bool together, Supervisor& supervisor,
                 record::SharedProgress& shared);

}  // namespace ddp::launch
