#pragma once

#include <functional>
#include <memory>

#include "launch/cluster/node_watch.h"

namespace ddp::launch {

// What node 0 says before the ranks start: what they are to do, as it resolved it, and its address.
struct Welcome {
  std::string work;
  std::string node_0;
};

// A node of a run that is not node 0: it asks node 0 what to do, starts its ranks when told to, and writes no
// results: what its ranks log goes to node 0.
class Guest {
 public:
  // Finds node 0, which may start later, and says hello; waits until all nodes are there. Throws ddp::Error: (usage)
  // where node 0 refuses it, (training) where node 0 does not come within `patience`.
  Guest(const Launch& launch, const config::Value& terms, std::chrono::milliseconds patience);

  // Has node 0 said that there is nothing to do?
  bool over() const { return end_.is_object(); }
  const Welcome& welcome() const { return welcome_; }

  // Tells node 0 that this node cannot take part.
  void decline(const std::string& why);

  // Is ready, starts the job's ranks whenever told to, and watches them to their end. Returns the program's exit code.
  int run(const Job& job);

 private:
  struct Output {
    int rank;
    FileDescriptor from;
  };
  void find_node_0(std::chrono::milliseconds patience);
  config::Value expect(std::chrono::milliseconds patience);
  void start_ranks(const config::Value& start, const Job& job, Supervisor& supervisor, record::ProgressPage& page);
  bool send_output(const Output& output);
  void hear(const Plan& plan, Supervisor& supervisor, record::ProgressPage& page);
  void tick(const Plan& plan, Supervisor& supervisor, record::ProgressPage& page);
  Outcome run_group(const Job& job, const config::Value& start);
  void tell(const Outcome& outcome, record::ProgressPage& page);
  void hear_verdict(const Outcome& outcome);
  int conclude(const Outcome& outcome);

  const Launch& launch_;
  std::unique_ptr<NodeLink> link_;
  Welcome welcome_;
  std::vector<Output> outputs_;
  config::Value end_ = nullptr;  // node 0's last word
  bool again_ = false;           // node 0 starts all ranks again
  NodeLink::Clock::time_point last_beat_{};
};

}  // namespace ddp::launch
