#pragma once

#include <chrono>
#include <string>
#include <vector>

#include "launch/cluster/node_link.h"
#include "launch/plan/plan.h"

namespace ddp::launch {

// Returns the terms that nodes must agree on before anything starts: build, number of nodes and ranks, command, and
// `asked`, an object of the command's own terms.
config::Value terms_of(const Launch& launch, const std::string& verb, const config::Value& asked);

// A node that has joined, as node 0 sees it.
struct Node {
  int rank = 0;  // among the nodes
  NodeLink link;
  std::vector<std::string> devices = {};  // of its ranks
  bool done = false;                      // its ranks have ended successfully, or it has none now
  bool ready = false;                     // it can start its ranks
  int place = 0;                          // among the nodes that compute; 0: it has no ranks now
  std::vector<int> lost = {};             // those of its ranks that are lost for good

  int available() const { return static_cast<int>(devices.size() - lost.size()); }

  std::string name() const { return "node " + std::to_string(rank) + " (" + link.peer() + ")"; }
};

// The other nodes of a run, as node 0's parent meets them before any node has loaded torch. A run on one machine has
// none, and then every call does nothing. messages.h tells what nodes say to each other.
class Nodes {
 public:
  // `patience`: how long nodes wait for each other.
  Nodes(const Launch& launch, const config::Value& terms, std::chrono::milliseconds patience)
      : launch_(launch), terms_(terms), patience_(patience) {}
  ~Nodes();
  Nodes(const Nodes&) = delete;
  Nodes& operator=(const Nodes&) = delete;

  // Listens at the launch's address until all nodes have sent a matching hello. Throws ddp::Error: (usage) if nodes do
  // not agree, (training) if some do not come.
  void meet();

  // Sends the work, and waits until every node is ready for it. `data`: the files that node 0 reads for it. Throws
  // ddp::Error (usage) if a node cannot do it, or has other data.
  void welcome(const config::Value& work, const std::vector<record::DataSample>& data = {});

  // Makes the nodes of this world fork their ranks, which meet at `store`. The others wait.
  void start(const Address& store, const World& world);

  // For a run that goes on without lost nodes (--elastic): such a node may come back.

  // The ranks that each node can start, if the nodes that are back take part again; without them, the present ones.
  // `here`: on this node.
  std::vector<int> available(int here, bool with_returned) const;
  // Answers those that are coming back. Call it regularly.
  void talk_to_returned();
  // Lets those that are back and ready take part. Returns their names; "": none.
  std::string take_in();
  // Forgets the nodes whose connection has ended, or that are silent for so long. Returns the names of those that
  // computed; "": none.
  std::string forget_gone(NodeLink::Clock::duration limit);

  // Ends the run: sends all nodes the exit code and the reason.
  void end(int exit_code, const std::string& why);

  // The socket for nodes that come too late, and the answer to one of them: an elastic run takes back a lost node.
  int listener() const { return listener_.get(); }
  void answer_late();

  std::vector<Node>& all() { return nodes_; }
  // This node's address, as the other nodes reach it.
  const std::string& own_ip() const { return address_.ip; }
  // The node at this place among those that compute, and its name: "node 1 (10.0.0.2)". Null: node 0, or it is gone.
  Node* at(int place);
  std::string name_of(int place);
  // The devices of all ranks of the other nodes that compute, in rank order.
  std::vector<std::string> devices() const;

 private:
  // A connection that has not said hello yet.
  struct Caller {
    NodeLink link;
    NodeLink::Clock::time_point until;
  };
  FileDescriptor listen();
  void gather();
  void send_welcome(Node& node);
  // Returns whether somebody connects. Returns sooner when a message comes.
  bool wait_for_words(const std::vector<Caller>& callers, std::chrono::milliseconds longest);
  FileDescriptor answer_call();
  void refuse_late(NodeLink& link, const std::optional<message::Any>& first);
  std::string taken(int number) const;
  std::string missing() const;
  void admit(NodeLink link, const message::Hello& hello);
  void refuse(NodeLink& link, const std::string& why);
  // The same, without a word on this node.
  static void dismiss(NodeLink& link, const std::string& why);

  const Launch& launch_;
  const config::Value terms_;
  const std::chrono::milliseconds patience_;
  Address address_{.ip = "127.0.0.1"};
  FileDescriptor listener_;
  std::vector<Node> nodes_;     // sorted by rank once all have joined
  std::vector<Node> returned_;  // lost ones that are back, and do not take part yet
  config::Value work_;          // of welcome()
  std::vector<record::DataSample> data_;
  int ranks_here_ = 0;  // of each node that computes
  bool ended_ = false;
};

// On node 0 (or the only node): gathers the other nodes, calls `body`, and sends them the error that `body` throws. As
// one rank that torchrun or srun started: calls `body` with null. Returns the program's exit code.
int lead(const Launch& launch, const config::Value& terms, std::chrono::milliseconds patience,
         const std::function<int(Nodes*)>& body);

}  // namespace ddp::launch
