#include "launch/cluster/node_watch.h"

#include <fcntl.h>
#include <algorithm>

#include "base/log.h"

namespace ddp::launch {

using std::chrono::milliseconds;

Heartbeat::Heartbeat(double timeout_seconds)
    : every(1000), limit(static_cast<std::int64_t>(std::clamp(timeout_seconds, 5.0, 30.0) * 1000)) {}

std::string silent(const std::string& node, const NodeLink& link) {
  return node + " has been silent for " +
         std::to_string(std::chrono::duration_cast<std::chrono::seconds>(link.silence()).count()) +
         " s: is its machine, or the network, down?";
}

message::Alive standing_of(record::SharedProgress& shared) {
  message::Alive alive;
  for (int r = 0; r < shared.ranks(); ++r) {
    auto& rank = shared.rank(r);
    alive.ranks.push_back({.step = rank.step.load(),
                           .phase = static_cast<int>(rank.phase.load()),
                           .collectives = rank.collectives.load(),
                           .collective = static_cast<int>(rank.collective.load()),
                           .stopped = rank.stopped.load()});
  }
  return alive;
}

void note_standing(const message::Alive& alive, record::SharedProgress& shared, const Plan& own) {
  for (int r = 0; r < shared.ranks() && r < static_cast<int>(alive.ranks.size()); ++r) {
    const auto& told = alive.ranks[r];
    auto& rank = shared.rank(r);
    // An older standing came back by way of node 0.
    if (own.is_here(r) || told.collectives < rank.collectives.load()) continue;
    rank.step = told.step;
    rank.phase = static_cast<record::Phase>(told.phase);
    rank.collectives = told.collectives;
    rank.collective = static_cast<record::CollectiveKind>(told.collective);
    rank.stopped = told.stopped;
  }
}

namespace {

void keep_output(const RankOutput& output, const std::string& text) {
  if (output.log.empty()) return log::print(text);  // the descriptor is stderr
  const FileDescriptor log(open(output.log.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0644));
  if (log) write_all(log.get(), text.data(), text.size(), output.log);
}

}  // namespace

NodeWatch::NodeWatch(Nodes& nodes, Supervisor& supervisor, record::SharedProgress& shared, const Job& job)
    : nodes_(nodes),
      supervisor_(supervisor),
      shared_(shared),
      job_(job),
      heartbeat_(job.plan.experiment.distributed.timeout) {
  if (nodes.listener() < 0) return;
  for (Node& node : nodes.all()) {
    supervisor.watch_also(node.link.descriptor(), [this, &node] {
      receive(node);
      return !node.link.closed();
    });
  }
  supervisor.watch_also(nodes.listener(), [&nodes] {
    nodes.answer_late();
    return true;
  });
  supervisor.watch_over([this] { tick(); });
  supervisor.wait_for([this] {
    return std::any_of(nodes_.all().begin(), nodes_.all().end(), [](const Node& node) { return !node.done; });
  });
  supervisor.suspect([this]() -> std::optional<std::string> {
    for (const Node& node : nodes_.all()) {
      if (!node.done && node.link.silence() > heartbeat_.worrying()) return silent(node.name(), node.link);
    }
    return {};
  });
  supervisor.tell_stop([this](int signal, bool at_once) {
    for (Node& node : nodes_.all()) node.link.send(message::Stop{.signal = signal, .at_once = at_once});
  });
}

void NodeWatch::receive(Node& node) {
  for (const message::Any& message : node.link.receive()) take(node, message);
  if (node.link.closed() && !node.done) {
    supervisor_.fail({.rank = -1, .what = node.name() + " is gone: its connection was closed", .log = ""});
  }
}

void NodeWatch::take(Node& node, const message::Any& message) {
  if (const auto* alive = std::get_if<message::Alive>(&message)) {
    note_standing(*alive, shared_, job_.plan);
  } else if (const auto* log = std::get_if<message::Log>(&message)) {
    keep_output(job_.output(log->rank), log->text);
  } else if (const auto* stop = std::get_if<message::Stop>(&message)) {
    supervisor_.stop(stop->signal, stop->at_once);
    for (Node& other : nodes_.all()) {
      if (&other != &node) other.link.send(message);
    }
  } else if (const auto* failure = std::get_if<message::Failure>(&message)) {
    const bool known = failure->rank < shared_.ranks();
    if (known) shared_.rank(failure->rank).no_restart = failure->hopeless;
    supervisor_.fail({.rank = known ? failure->rank : -1,
                      .what = failure->what,
                      .log = known ? job_.output(failure->rank).name : "",
                      .lost = failure->lost});
  } else if (std::holds_alternative<message::Done>(message)) {
    node.done = true;
  }
}

bool NodeWatch::regroup(Outcome& outcome) {
  for (Node& node : nodes_.all()) node.link.send(message::Again{});
  for (Node& node : nodes_.all()) {
    if (!wait_for_ended(node)) {
      if (job_.plan.launch.elastic) continue;
      outcome.failure->what += "; " + node.name() + " is gone or does not answer";
      return false;
    }
    node.done = false;
  }
  nodes_.forget_gone(heartbeat_.limit);  // of an elastic run
  outcome.stop_signal = supervisor_.outcome().stop_signal;
  return outcome.stop_signal == 0;
}

bool NodeWatch::wait_for_ended(Node& node) {
  for (;;) {
    // A node that looks for hung ranks still sends heartbeats.
    const auto message = node.link.wait(heartbeat_.limit);
    if (!message) return false;
    if (message::get_if<message::Ended>(message) != nullptr) return true;
    take(node, *message);
  }
}

void NodeWatch::tick() {
  const auto now = NodeLink::Clock::now();
  const bool beat = now - last_beat_ >= heartbeat_.every;
  if (beat) {
    last_beat_ = now;
    supervisor_.note_stopped();
  }
  for (Node& node : nodes_.all()) {
    if (beat) node.link.send(standing_of(shared_));
    node.link.flush();
    if (node.done || node.link.silence() < heartbeat_.limit) continue;
    supervisor_.fail({.rank = -1, .what = silent(node.name(), node.link), .log = ""});
  }
}

}  // namespace ddp::launch
