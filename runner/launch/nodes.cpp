#include "launch/nodes.h"

#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>
#include <algorithm>

#include "base/log.h"
#include "config/difference.h"
#include "launch/version.h"
#include "record/atomic_file.h"

namespace ddp::launch {
namespace {

using config::Value;
using Clock = NodeLink::Clock;
using std::chrono::milliseconds;

// How long a connection may stay silent before it says hello: who scans ports says nothing.
constexpr milliseconds kHelloPatience{2000};

milliseconds left_until(Clock::time_point deadline) {
  return std::max(milliseconds(0), std::chrono::duration_cast<milliseconds>(deadline - Clock::now()));
}

// Where node 0 listens, and how the others find it.
Address address_of(const Launch& launch) {
  if (launch.meeting_file.empty()) return resolve(launch.master_host, launch.master_port);
  return {.ip = outward_ip()};
}

}  // namespace

Value terms_of(const Launch& launch, const std::string& verb, const Value& asked) {
  return {{"build", build_id()},
          {"nnodes", launch.nodes},
          {"nproc_per_node", launch.ranks_here ? Value(*launch.ranks_here) : Value(nullptr)},
          {"command", verb},
          {"experiment", asked}};
}

Nodes::Nodes(const Launch& launch, const Value& terms, milliseconds patience) : launch_(launch), patience_(patience) {
  if (launch.nodes == 1) return;
  address_ = address_of(launch);
  const FileDescriptor listener = listen_on(address_);
  if (!launch.meeting_file.empty()) record::write_atomically(launch.meeting_file, address_.text() + "\n");
  log::info("node 0 of " + std::to_string(launch.nodes) + " at " + address_.text() + ", waiting for the others");
  try {
    gather(listener, terms);
  } catch (const Error& error) {
    end(2, error.what());
    throw;
  }
  if (!launch.meeting_file.empty()) unlink(launch.meeting_file.c_str());
}

Nodes::~Nodes() { end(1, "node 0 has ended"); }

void Nodes::gather(const FileDescriptor& listener, const Value& terms) {
  const auto deadline = Clock::now() + patience_;
  while (static_cast<int>(nodes_.size()) + 1 < launch_.nodes) {
    pollfd ready{listener.get(), POLLIN, 0};
    poll(&ready, 1, static_cast<int>(std::min(left_until(deadline), milliseconds(500)).count()));
    // One that has joined may have been stopped again while it waited.
    std::erase_if(nodes_, [](Node& node) {
      node.link.receive();
      if (node.link.closed()) log::warn(node.name() + " has left again");
      return node.link.closed();
    });
    if (ready.revents != 0) {
      FileDescriptor socket(accept4(listener.get(), nullptr, nullptr, SOCK_CLOEXEC));
      if (!socket) continue;
      Node newcomer{.link = NodeLink(std::move(socket))};
      const Value hello = newcomer.link.wait(std::min(left_until(deadline), kHelloPatience));
      if (hello.is_object() && admit(newcomer, hello, terms)) nodes_.push_back(std::move(newcomer));
    }
    if (Clock::now() < deadline) continue;
    std::string missing;
    for (int n = 1; n < launch_.nodes; ++n) {
      if (std::none_of(nodes_.begin(), nodes_.end(), [n](const Node& node) { return node.rank == n; })) {
        missing += (missing.empty() ? "node " : ", node ") + std::to_string(n);
      }
    }
    throw training_error("not there after " + std::to_string(patience_.count() / 1000) + " s (distributed.timeout)",
                         missing, "start it with the same command and its --node-rank");
  }
  std::sort(nodes_.begin(), nodes_.end(), [](const Node& a, const Node& b) { return a.rank < b.rank; });
}

bool Nodes::admit(Node& newcomer, const Value& hello, const Value& terms) {
  if (hello.value("type", "") != "hello" || !hello.contains("terms") || !hello.contains("node") ||
      !hello["node"].is_number_integer()) {
    return false;
  }
  newcomer.rank = hello["node"].get<int>();
  if (newcomer.rank == 0) {
    refuse(newcomer.link, "there is a node 0 already, at " + address_.text() + ": give --node-rank 1 or more");
    return false;
  }
  for (const Node& node : nodes_) {
    if (node.rank != newcomer.rank) continue;
    refuse(newcomer.link, node.name() + " is there already: each node needs a --node-rank of its own");
    return false;
  }
  if (const auto differs = config::first_difference(terms, hello["terms"])) {
    const std::string what = differs->key + " is " + differs->second + " there, " + differs->first + " on node 0";
    refuse(newcomer.link, what);
    throw usage_error("does not run what node 0 runs: " + what, newcomer.name(),
                      "all nodes need the same command, experiment and build");
  }
  log::info(newcomer.name() + " is there");
  return true;
}

void Nodes::refuse(NodeLink& link, const std::string& why) {
  log::warn("refused a node at " + link.peer() + ": " + why);
  link.send({{"type", "refused"}, {"why", why}});
}

void Nodes::welcome(const Plan& plan) {
  const std::string toml = config::to_toml(plan.experiment);
  for (Node& node : nodes_) node.link.send({{"type", "welcome"}, {"config", toml}, {"ip", address_.ip}});
  for (Node& node : nodes_) {
    const Value answer = node.link.wait(patience_);
    const std::string type = answer.is_object() ? answer.value("type", "") : "";
    if (type == "ready") {
      node.devices = answer.at("devices").get<std::vector<std::string>>();
      continue;
    }
    const std::string why = type == "failed" ? answer.value("why", "") : "has gone, or does not answer";
    end(2, node.name() + ": " + why);
    throw usage_error("cannot take part:\n" + why, node.name());
  }
}

void Nodes::start(const Address& store, bool resumed, const std::filesystem::path& checkpoint) {
  for (Node& node : nodes_) {
    node.link.send(
        {{"type", "start"}, {"store_port", store.port}, {"resumed", resumed}, {"checkpoint", checkpoint.string()}});
  }
}

void Nodes::end(int exit_code, const std::string& why) {
  if (std::exchange(ended_, true)) return;
  for (Node& node : nodes_) node.link.send({{"type", "end"}, {"code", exit_code}, {"why", why}});
}

std::vector<std::string> Nodes::devices() const {
  std::vector<std::string> all;
  for (const Node& node : nodes_) all.insert(all.end(), node.devices.begin(), node.devices.end());
  return all;
}

}  // namespace ddp::launch
