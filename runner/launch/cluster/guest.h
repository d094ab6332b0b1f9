#pragma once

#include <functional>
#include <memory>

#include "launch/cluster/node_watch.h"

namespace ddp::launch {

// A node of a run other than node 0. It receives its work from node 0, starts its ranks on node 0's message, and writes
// no results: the output of its ranks goes to node 0.
class Guest {
 public:
  explicit Guest(const Launch& launch) : launch_(launch) {}

  // Finds node 0, which may start later, says hello, and waits until all nodes have joined. Throws ddp::Error: (usage)
  // if node 0 refuses this node, (training) if node 0 does not come within `patience`.
  void join(const config::Value& terms, std::chrono::milliseconds patience);

  // Returns whether node 0 has said that nothing is left to do.
  bool over() const { return end_.has_value(); }
  // The work, as node 0 resolved it. Throws ddp::Error (training) if it is malformed.
  template <class Work>
  Work work() const try {
    return config::read_written<Work>(welcome_.work);
  } catch (const Error& error) {
    throw training_error("sent a malformed message: " + error.summary(), "node 0");
  }

  // Tells node 0 that this node cannot take part.
  void decline(const std::string& why);

  // Reports ready, starts the job's ranks on each `start`, and watches them to their end. Returns the program's exit
  // code.
  int run(const Job& job);

 private:
  struct Output {
    int rank;
    FileDescriptor from;
  };
  void find_node_0(std::chrono::milliseconds patience);
  message::Any next_message(std::chrono::milliseconds patience);
  message::Any accepted(const std::optional<message::Any>& message);
  std::optional<message::Start> wait_for_start(const Plan& plan);
  void start_ranks(const message::Start& start, const Job& job, Supervisor& supervisor, record::SharedProgress& shared);
  bool send_output(const Output& output);
  void receive(const Plan& plan, Supervisor& supervisor, record::SharedProgress& shared);
  void tick(const Plan& plan, Supervisor& supervisor, record::SharedProgress& shared);
  Outcome run_group(const Job& job, const message::Start& start);
  void send_outcome(const Outcome& outcome, record::SharedProgress& shared);
  void receive_verdict(const Outcome& outcome);
  std::string how_to_continue(const Job& job) const;
  int conclude(const Outcome& outcome, const Job& job);

  const Launch& launch_;
  std::unique_ptr<NodeLink> link_;
  message::Welcome welcome_;
  std::vector<Output> outputs_;
  std::optional<message::End> end_;  // node 0's last message
  bool again_ = false;               // node 0 restarts all ranks
  NodeLink::Clock::time_point last_beat_{};
};

// On another node: receives the work from node 0, makes a job of it and does its part. If `make_job` throws, reports
// the error to node 0. Returns the program's exit code. Throws ddp::Error if this node cannot take part.
int take_part(const Launch& launch, const config::Value& terms, std::chrono::milliseconds patience,
              const std::function<Job(const Guest& guest)>& make_job);

}  // namespace ddp::launch
