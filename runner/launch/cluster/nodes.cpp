#include "launch/cluster/nodes.h"

#include <poll.h>
#include <sys/socket.h>
#include <algorithm>
#include <thread>

#include "base/log.h"
#include "config/difference.h"
#include "launch/cluster/job.h"
#include "launch/library/libtorch.h"
#include "record/file/atomic_file.h"

namespace ddp::launch {
namespace {

using config::Value;
using Clock = NodeLink::Clock;
using std::chrono::milliseconds;

// Maximum silence of a connection before its hello. A port scanner sends nothing.
constexpr milliseconds kHelloPatience{2000};
// Maximum number of connections without a hello; further ones wait.
constexpr std::size_t kMostCallers = 32;

// Time for the other end to read a last message: the nodes of a run that ends; and a refused node, while the others
// wait.
constexpr milliseconds kFarewell{2000};
constexpr milliseconds kRefusal{200};

// Interval for checking deadlines.
constexpr milliseconds kLook{500};

void write_meeting_file(const std::filesystem::path& file, const std::string& text) {
  try {
    record::write_atomically(file, text);
  } catch (const Error& error) {
    throw usage_error("the nodes cannot meet at " + file.string() + ": " + error.summary(), "distributed.init_method",
                      "name a file in a folder that exists and that all nodes see");
  }
}

constexpr std::size_t kShownDifferences = 5;

// The reader is at the newcomer ("here") or at node 0 ("there").
std::string differences_in_words(const std::vector<config::Difference>& differ, const std::string& where) {
  std::string text;
  for (const auto& d : differ) {
    text += (text.empty() ? "" : "; ") + d.key + " is " + d.second + " " + where + ", " + d.first + " on node 0";
  }
  return text;
}

milliseconds left_until(Clock::time_point deadline) {
  return std::max(milliseconds(0), std::chrono::duration_cast<milliseconds>(deadline - Clock::now()));
}

// How long a name server may remember the machine that had node 0's name before.
constexpr std::chrono::seconds kStaleName{30};

// Reads a node's answer to the work. Returns why the node cannot take part; "": it is ready.
std::string reason_against(Node& node, const std::optional<message::Any>& answer,
                           const std::vector<record::DataSample>& data) {
  if (const auto* failed = message::get_if<message::Failed>(answer)) return failed->why;
  const auto* const ready = message::get_if<message::Ready>(answer);
  if (ready == nullptr) return "is gone or does not answer";
  node.devices = ready->devices;
  const std::string differs = record::sample_difference(data, ready->data);
  return differs.empty() ? "" : "its data are not node 0's: " + differs + "\n" + record::kSameDataRemedy;
}

}  // namespace

Value terms_of(const Launch& launch, const std::string& verb, const Value& asked) {
  Value terms{{"build", build_id()},
              {"nnodes", launch.nodes},
              {"nproc_per_node", launch.ranks_here ? Value(*launch.ranks_here) : Value(nullptr)},
              {"command", verb}};
  terms.update(config::without_queries(asked));  // each node may have its own signature of a URL
  return terms;
}

void Nodes::meet() {
  if (launch_.nodes == 1) return;
  listener_ = listen();
  const MeetingFile file(launch_.meeting_file);
  if (!file.path().empty()) write_meeting_file(file.path(), address_.text() + "\n");
  log::info("node 0 of " + std::to_string(launch_.nodes) + " at " + address_.text() + ", waiting for the others");
  try {
    gather();
  } catch (const Error& error) {
    end(error.exit_code(), error.what());
    throw;
  }
}

Nodes::~Nodes() { end(1, "node 0 has ended"); }

// Listens where other nodes find node 0. A cluster that has just started this machine may not have named it yet.
FileDescriptor Nodes::listen() {
  if (!launch_.meeting_file.empty()) return listen_on(address_ = {.ip = outward_ip()});
  const std::string& host = launch_.master_host;
  const auto begun = Clock::now();
  for (bool told = false;; std::this_thread::sleep_for(milliseconds(100))) {
    const auto found = resolve_if_known(host, launch_.master_port);
    const bool is_certain = found && (found->ip == host || is_of_this_machine(*found));
    const auto waited = Clock::now() - begun;
    if (is_certain || (found && waited >= kStaleName)) return listen_on(address_ = *found);
    const std::string what = found ? "leads to " + found->ip + ", which is no address of this machine"
                                   : "is no host that this machine can find";
    if (waited >= patience_)
      throw training_error(what + " after " + in_seconds(patience_) + " (distributed.timeout)", host);
    if (!std::exchange(told, true)) log::info("waiting for the name of node 0: " + host + " " + what);
  }
}

void Nodes::gather() {
  const auto deadline = Clock::now() + patience_;
  std::vector<Caller> callers;
  while (static_cast<int>(nodes_.size()) + 1 < launch_.nodes) {
    if (Clock::now() >= deadline) {
      throw training_error("not there after " + in_seconds(patience_) + " (distributed.timeout)", missing());
    }
    if (wait_for_words(callers, std::min(left_until(deadline), kLook))) {
      FileDescriptor socket = answer_call();
      if (socket) callers.push_back({.link = NodeLink(std::move(socket)), .until = Clock::now() + kHelloPatience});
    }
    // A joined node may have been stopped while it waited.
    std::erase_if(nodes_, [](Node& node) {
      node.link.receive();
      if (node.link.closed()) log::warn(node.name() + " has left again");
      return node.link.closed();
    });
    std::erase_if(callers, [&](Caller& caller) {
      const auto first = caller.link.wait(milliseconds(0));
      if (const auto* hello = message::get_if<message::Hello>(first)) admit(std::move(caller.link), *hello);
      return first || caller.link.closed() || Clock::now() >= caller.until;
    });
  }
  for (Caller& caller : callers) refuse_late(caller.link, caller.link.wait(milliseconds(0)));
  std::sort(nodes_.begin(), nodes_.end(), [](const Node& a, const Node& b) { return a.rank < b.rank; });
}

FileDescriptor Nodes::answer_call() { return FileDescriptor(accept4(listener_.get(), nullptr, nullptr, SOCK_CLOEXEC)); }

// Returns why no other node can have this number; "": it is free.
std::string Nodes::taken(int number) const {
  if (number == 0) return "there is a node 0 already, at " + address_.text() + ": give --node-rank 1 or more";
  for (const auto* nodes : {&nodes_, &returned_}) {
    for (const Node& node : *nodes) {
      if (number == node.rank && !node.link.closed())
        return node.name() + " is there already: each node needs a --node-rank of its own";
    }
  }
  return "";
}

// `first`: the first message of the node; nothing: it sent none.
void Nodes::refuse_late(NodeLink& link, const std::optional<message::Any>& first) {
  const auto* const hello = message::get_if<message::Hello>(first);
  const std::string why = hello == nullptr ? "" : taken(hello->node);
  const std::string full = "the run at " + address_.text() + " has its " + std::to_string(launch_.nodes) + " nodes";
  refuse(link, why.empty() ? full : why);
}

void Nodes::answer_late() {
  FileDescriptor socket = answer_call();
  if (!socket) return;
  NodeLink link(std::move(socket));
  const auto first = link.wait(kRefusal);
  const auto* const hello = message::get_if<message::Hello>(first);
  const bool was_here =
      hello != nullptr && hello->node < launch_.nodes && taken(hello->node).empty() && hello->terms == terms_;
  if (!launch_.elastic || !was_here) return refuse_late(link, first);
  returned_.push_back({.rank = hello->node, .link = std::move(link)});
  send_welcome(returned_.back());
  log::info(returned_.back().name() + " is back: it takes part after the next checkpoint, if it is ready by then");
}

void Nodes::talk_to_returned() {
  std::erase_if(returned_, [this](Node& node) {
    for (const message::Any& answer : node.link.receive()) {
      if (std::holds_alternative<message::Waiting>(answer)) continue;
      const std::string why = reason_against(node, answer, data_);
      node.ready = why.empty();
      if (node.ready) continue;
      log::warn(node.name() + " cannot take part: " + why);
      node.link.send(message::End{.code = 2, .why = why});
      return true;
    }
    if (node.ready) node.link.send(message::Alive{});
    node.link.flush();
    return node.link.closed();
  });
}

std::string Nodes::take_in() {
  std::string names;
  for (Node& node : returned_) {
    if (!node.ready) continue;
    names += (names.empty() ? "" : ", ") + node.name();
    nodes_.push_back(std::move(node));
  }
  // A moved node's link has no socket.
  std::erase_if(returned_, [](const Node& node) { return node.ready; });
  std::sort(nodes_.begin(), nodes_.end(), [](const Node& a, const Node& b) { return a.rank < b.rank; });
  return names;
}

std::string Nodes::forget_gone(NodeLink::Clock::duration limit) {
  std::string names;
  std::erase_if(nodes_, [&](const Node& node) {
    const bool gone = node.link.closed() || (node.place > 0 && node.link.silence() >= limit);
    if (gone && node.place > 0) names += (names.empty() ? "" : ", ") + node.name();
    return gone;
  });
  return names;
}

std::vector<int> Nodes::available(int here, bool with_returned) const {
  std::vector<int> ranks{here};
  for (const Node& node : nodes_) ranks.push_back(node.link.closed() ? 0 : node.available());
  for (const Node& node : returned_) {
    if (with_returned && node.ready) ranks.push_back(node.available());
  }
  return ranks;
}

bool Nodes::wait_for_words(const std::vector<Caller>& callers, milliseconds longest) {
  std::vector<pollfd> ready{{callers.size() < kMostCallers ? listener_.get() : -1, POLLIN, 0}};
  for (const Caller& caller : callers) ready.push_back({caller.link.descriptor(), POLLIN, 0});
  for (const Node& node : nodes_) ready.push_back({node.link.descriptor(), POLLIN, 0});
  poll(ready.data(), ready.size(), static_cast<int>(longest.count()));
  return ready.front().revents != 0;
}

std::string Nodes::missing() const {
  std::string names;
  for (int n = 1; n < launch_.nodes; ++n) {
    if (std::any_of(nodes_.begin(), nodes_.end(), [n](const Node& node) { return node.rank == n; })) continue;
    names += (names.empty() ? "node " : ", node ") + std::to_string(n);
  }
  return names;
}

void Nodes::admit(NodeLink link, const message::Hello& hello) {
  if (const std::string why = taken(hello.node); !why.empty()) return refuse(link, why);
  Node newcomer{.rank = hello.node, .link = std::move(link)};
  const auto differ = config::first_differences(terms_, hello.terms, kShownDifferences);
  if (!differ.empty()) {
    const bool of_paths = std::all_of(differ.begin(), differ.end(), config::is_of_paths);
    const std::string remedy =
        of_paths ? config::kSamePathRemedy : "all nodes need the same command, experiment and build";
    dismiss(newcomer.link, differences_in_words(differ, "here") + "\n  " + remedy);
    throw usage_error("differs from node 0: " + differences_in_words(differ, "there"), newcomer.name(), remedy);
  }
  if (newcomer.rank >= launch_.nodes) {
    return refuse(newcomer.link, "there is no node " + std::to_string(newcomer.rank));
  }
  log::info(newcomer.name() + " is there");
  nodes_.push_back(std::move(newcomer));
}

void Nodes::refuse(NodeLink& link, const std::string& why) {
  log::warn("refused a node at " + link.peer() + ": " + why);
  dismiss(link, why);
}

void Nodes::dismiss(NodeLink& link, const std::string& why) {
  link.send(message::Refused{why});
  // Unread input may be left, and closing the socket would then reset the connection: the node would not learn why.
  link.end_sending();
  link.wait_for_end(Clock::now() + kRefusal);
}

void Nodes::send_welcome(Node& node) {
  node.link.send(message::Welcome{.work = work_, .ip = address_.ip, .restarts = launch_.max_restarts});
}

void Nodes::welcome(const Value& work, const std::vector<record::DataSample>& data) {
  work_ = work;
  data_ = data;
  for (Node& node : nodes_) send_welcome(node);
  for (Node& node : nodes_) {
    const std::string why = reason_against(node, node.link.wait(patience_), data);
    node.place = node.rank;
    ranks_here_ = static_cast<int>(node.devices.size());
    if (why.empty()) continue;
    end(2, node.name() + ": " + why);
    throw usage_error("cannot take part:\n" + why, node.name());
  }
}

void Nodes::start(const Address& store, const World& world) {
  ranks_here_ = world.ranks_here;
  int place = 0;
  for (Node& node : nodes_) {
    const bool computes = place + 1 < world.nodes && node.available() >= world.ranks_here;
    node.place = computes ? ++place : 0;
    node.done = !computes;
    if (!computes) continue;
    node.link.expect_words();
    node.link.send(message::Start{.store_port = store.port,
                                  .nodes = world.nodes,
                                  .ranks_here = world.ranks_here,
                                  .place = place,
                                  .lost = node.lost});
  }
}

void Nodes::end(int exit_code, const std::string& why) {
  if (std::exchange(ended_, true)) return;
  for (Node& node : returned_) nodes_.push_back(std::move(node));
  returned_.clear();
  for (Node& node : nodes_) node.link.send(message::End{.code = exit_code, .why = why});
  for (Node& node : nodes_) node.link.end_sending();
  const auto deadline = Clock::now() + kFarewell;
  for (Node& node : nodes_) node.link.wait_for_end(deadline);
}

Node* Nodes::at(int place) {
  const auto found = std::find_if(nodes_.begin(), nodes_.end(), [place](const Node& n) { return n.place == place; });
  return place == 0 || found == nodes_.end() ? nullptr : &*found;
}

std::string Nodes::name_of(int place) {
  if (place == 0) return "node 0 (" + address_.ip + ")";
  const Node* const node = at(place);
  return node == nullptr ? "node " + std::to_string(place) : node->name();
}

std::vector<std::string> Nodes::devices() const {
  std::vector<std::string> all;
  for (const Node& node : nodes_) {
    if (node.place == 0) continue;
    for (const int rank : not_lost(static_cast<int>(node.devices.size()), node.lost, ranks_here_)) {
      all.push_back(node.devices[rank]);
    }
  }
  return all;
}

int lead(const Launch& launch, const config::Value& terms, std::chrono::milliseconds patience,
         const std::function<int(Nodes*)>& body) {
  if (launch.one_rank) return body(nullptr);
  Nodes nodes(launch, terms, patience);
  nodes.meet();
  try {
    return body(&nodes);
  } catch (const Error& error) {
    nodes.end(error.exit_code(), error.what());
    throw;
  }
}

}  // namespace ddp::launch
