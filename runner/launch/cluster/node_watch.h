#pragma once

#include <chrono>
#include <functional>

#include "launch/cluster/job.h"
#include "launch/cluster/nodes.h"

namespace ddp::launch {

// Nodes send each other a heartbeat, with the standing of their ranks, at this interval; a silent node is given up
// after `limit`: distributed.timeout, within 5 to 30 s.
struct Heartbeat {
  explicit Heartbeat(double timeout_seconds);
  std::chrono::milliseconds every;
  std::chrono::milliseconds limit;
  // A node that is silent for this long is the likely cause of other failures.
  std::chrono::milliseconds worrying() const { return 5 * every / 2; }
};

// The message about a node that is silent for too long.
std::string silent(const std::string& node, const NodeLink& link);

// The standing of the ranks, as an `alive` message carries it; and its copy to another node's shared progress, which
// skips that node's own ranks.
message::Alive standing_of(record::SharedProgress& shared);
void note_standing(const message::Alive& alive, record::SharedProgress& shared, const Plan& own);

// Node 0's side of a run: receives messages from the other nodes while its own ranks are watched. Stores the output of
// their ranks, ends the run if a rank fails or a node goes away, and forwards stops.
class NodeWatch {
 public:
  NodeWatch(Nodes& nodes, Supervisor& supervisor, record::SharedProgress& shared, const Job& job);

  // When the ranks of this node have ended: makes the other nodes end theirs, for a restart. Returns false if that is
  // impossible, or if a node was asked to stop meanwhile; if a node is gone, the failure names it. An elastic run goes
  // on without it.
  bool regroup(Outcome& outcome);

 private:
  void receive(Node& node);
  void take(Node& node, const message::Any& message);
  bool wait_for_ended(Node& node);
  void tick();

  Nodes& nodes_;
  Supervisor& supervisor_;
  record::SharedProgress& shared_;
  const Job& job_;
  const Heartbeat heartbeat_;
  NodeLink::Clock::time_point last_beat_{};
};

}  // namespace ddp::launch
