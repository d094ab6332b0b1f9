#pragma once

#include <sys/types.h>
#include <optional>
#include <string>
#include <utility>

#include "record/run_directory.h"

// Is the process of a run or a sweep alive, and how does another terminal ask it to stop? Both work through the run's
// folder, so also from another machine that sees it.
namespace ddp::record {

// The name of this machine.
std::string host_name();

// Is a process alive that writes this run or sweep, given that its summary says that it runs? `host`: the machine that
// the summary names. On this machine the lock decides. Locks of another machine cannot be seen on every file system:
// there, files that were written within kSilence decide.
bool is_alive(const RunDirectory& run, const std::string& host);

// A process that trains calls note_alive() more often than this.
inline constexpr int kSilence = 300;  // seconds
void note_alive(const RunDirectory& run);

// A request to save and end, or to end at once without saving.
enum class StopRequest { save, at_once };

// Leaves a request in the run's folder, in place of an earlier one. Throws ddp::Error (training).
void request_stop(const RunDirectory& run, StopRequest request);
// Has the process that writes the run heard the request? It looks in the folder that it began in: after a rename of the
// folder it hears nothing.
bool is_heard(const RunDirectory& run);
// Returns the process that holds the run's lock on this machine; 0: none is known.
pid_t writer_of(const RunDirectory& run);
// Removes the request. The command that stops a run does so at its end, and a process that begins to write the run.
void forget_stop_request(const RunDirectory& run);

// The requests as a process that writes the run sees them.
class StopRequests {
 public:
  explicit StopRequests(RunDirectory run) : run_(std::move(run)) {}
  // Returns a request that this process has not heard yet. Call it a few times a second.
  std::optional<StopRequest> hear();

 private:
  const RunDirectory run_;
  std::optional<StopRequest> heard_;
};

}  // namespace ddp::record
