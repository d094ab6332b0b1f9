#pragma once

#include <chrono>
#include <functional>

#include "launch/cluster/nodes.h"
#include "launch/run/job.h"

namespace ddp::launch {

// How often nodes tell each other that they live, and how their ranks stand; and how long a silent one is waited for:
// no longer than a collective (distributed.timeout), within 5 to 30 s.
struct Heartbeat {
  explicit Heartbeat(double timeout_seconds);
  std::chrono::milliseconds every;
  std::chrono::milliseconds limit;
  // A node that is silent for that long is the likely cause of what else goes wrong.
  std::chrono::milliseconds worrying() const { return 5 * every / 2; }
};

// What a node that is silent for too long is told of.
std::string silent(const std::string& node, const NodeLink& link);

// How the ranks of a page stand, as an `alive` message tells it; and noted on another node's page, but for that node's
// own ranks.
config::Value standing_of(record::ProgressPage& page);
void note_standing(const config::Value& ranks, record::ProgressPage& page, const Plan& own);

// Node 0's side of a run: hears the other nodes while its own ranks are watched. Keeps what their ranks put out, ends
// the run when one of them fails or goes away, and passes a stop on.
class NodeWatch {
 public:
  NodeWatch(Nodes& nodes, Supervisor& supervisor, record::ProgressPage& page, const Job& job);

  // When the ranks of this node have ended: has the others end theirs, to be started again. False where that cannot be
  // done, or a node was asked to stop in the meantime; where a node is gone, the failure says so.
  bool regroup(Outcome& outcome);

 private:
  void hear(Node& node);
  void take(Node& node, const config::Value& message);
  void act_on(Node& node, const config::Value& message);
  bool wait_for_ended(Node& node);
  void tick();

  Nodes& nodes_;
  Supervisor& supervisor_;
  record::ProgressPage& page_;
  const Job& job_;
  const Heartbeat heartbeat_;
  NodeLink::Clock::time_point last_beat_{};
};

}  // namespace ddp::launch
