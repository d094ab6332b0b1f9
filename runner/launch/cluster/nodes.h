#pragma once

#include <chrono>
#include <string>
#include <vector>

#include "launch/cluster/address.h"
#include "launch/cluster/launcher.h"
#include "launch/cluster/node_link.h"

namespace ddp::launch {

// What nodes must agree on before anything starts: build, number of nodes and ranks, verb, and what it was asked for,
// an object.
config::Value terms_of(const Launch& launch, const std::string& verb, const config::Value& asked);

// A node that has joined, as node 0 sees it.
struct Node {
  int rank = 0;  // among the nodes
  NodeLink link;
  std::vector<std::string> devices = {};  // of its ranks
  bool done = false;                      // its ranks have ended well

  std::string name() const { return "node " + std::to_string(rank) + " (" + link.peer() + ")"; }
};

// The other nodes of a run, as node 0's parent meets them, before any of them has loaded torch. A run on one machine
// has none, and nothing is done.
//
// One JSON object a line: a node says `hello` with its terms; node 0 answers `refused`, or, once all are there,
// `welcome` with the work as it resolved it (of a run, its experiment); the node tries that and says `ready` or
// `failed`; when all are ready, `start`. While ranks run, both say `alive` and `stop`, a node `log`, `done` or
// `failure`, and node 0 `end`; or `again`, upon which a node ends its ranks, says `ended`, and waits for another
// `start`.
class Nodes {
 public:
  // Listens at the launch's address and waits until all nodes have said a fitting hello, up to `patience`.
  // Throws ddp::Error: (usage) where nodes do not agree, (training) where some do not come.
  Nodes(const Launch& launch, const config::Value& terms, std::chrono::milliseconds patience);
  ~Nodes();
  Nodes(const Nodes&) = delete;
  Nodes& operator=(const Nodes&) = delete;

  // Sends the work, and waits until every node is ready for it. Throws ddp::Error (usage) where one cannot be.
  void welcome(const std::string& work);

  // Tells all to fork their ranks, which meet at `store`.
  void start(const Address& store);

  // The run ends, for this reason: all nodes are told, with the exit code.
  void end(int exit_code, const std::string& why);

  // Where nodes call that come too late, and the answer to one of them.
  int listener() const { return listener_.get(); }
  void turn_away();

  std::vector<Node>& all() { return nodes_; }
  // This node's address, as the others reach it.
  const std::string& own_ip() const { return address_.ip; }
  // The devices of all ranks of the other nodes, in rank order.
  std::vector<std::string> devices() const;

 private:
  // Who has called and not said hello yet.
  struct Caller {
    NodeLink link;
    NodeLink::Clock::time_point until;
  };
  void gather(const config::Value& terms);
  // Has somebody called? Returns sooner when somebody says something.
  bool wait_for_words(const std::vector<Caller>& callers, std::chrono::milliseconds longest);
  FileDescriptor answer_call();
  void refuse_late(NodeLink& link);
  std::string missing() const;
  void admit(NodeLink link, const config::Value& hello, const config::Value& terms);
  void refuse(NodeLink& link, const std::string& why);

  const Launch& launch_;
  const std::chrono::milliseconds patience_;
  Address address_{.ip = "127.0.0.1"};
  FileDescriptor listener_;
  std::vector<Node> nodes_;  // in the order of their ranks, once all are there
  bool ended_ = false;
};

}  // namespace ddp::launch
