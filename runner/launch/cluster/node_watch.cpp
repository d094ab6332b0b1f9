#include "launch/cluster/node_watch.h"

#include <fcntl.h>
#include <algorithm>

#include "base/log.h"
#include "config/text/json_text.h"

namespace ddp::launch {

using config::Value;
using std::chrono::milliseconds;

constexpr std::int64_t kMostSteps = std::int64_t{1} << 62;  // adding 1 does not overflow

Heartbeat::Heartbeat(double timeout_seconds)
    : every(1000), limit(static_cast<std::int64_t>(std::clamp(timeout_seconds, 5.0, 30.0) * 1000)) {}

std::string silent(const std::string& node, const NodeLink& link) {
  return node + " has been silent for " +
         std::to_string(std::chrono::duration_cast<std::chrono::seconds>(link.silence()).count()) +
         " s: is its machine, or the network, down?";
}

Value standing_of(record::SharedProgress& shared) {
  Value list = Value::array();
  for (int r = 0; r < shared.ranks(); ++r) {
    auto& rank = shared.rank(r);
    list.push_back({rank.step.load(), static_cast<int>(rank.phase.load()), rank.collectives.load(),
                    static_cast<int>(rank.collective.load()), rank.stopped.load()});
  }
  return list;
}

void note_standing(const Value& ranks, record::SharedProgress& shared, const Plan& own) {
  for (int r = 0; r < shared.ranks() && r < static_cast<int>(ranks.size()); ++r) {
    const Value& told = ranks[r];
    auto& rank = shared.rank(r);
    const std::int64_t collectives = config::as_count(told.at(2));
    // An older standing came back by way of node 0.
    if (own.is_here(r) || collectives < rank.collectives.load()) continue;
    rank.step = config::as_count(told.at(0), kMostSteps);
    rank.phase = static_cast<record::Phase>(config::as_count(told.at(1), INT32_MAX));
    rank.collectives = collectives;
    rank.collective = static_cast<record::CollectiveKind>(config::as_count(told.at(3), INT32_MAX));
    rank.stopped = told.at(4).get<bool>();
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
    for (Node& node : nodes_.all()) node.link.send({{"type", "stop"}, {"signal", signal}, {"at_once", at_once}});
  });
}

void NodeWatch::receive(Node& node) {
  for (const Value& message : node.link.receive()) take(node, message);
  if (node.link.closed() && !node.done) {
    supervisor_.fail({.rank = -1, .what = node.name() + " is gone: its connection was closed", .log = ""});
  }
}

void NodeWatch::take(Node& node, const Value& message) {
  try {
    act_on(node, message);
  } catch (const std::exception& error) {
    supervisor_.fail({.rank = -1, .what = node.name() + " sent a malformed message: " + error.what(), .log = ""});
  }
}

void NodeWatch::act_on(Node& node, const Value& message) {
  const std::string type = message.value("type", "");
  if (type == "alive") {
    note_standing(message.at("ranks"), shared_, job_.plan);
  } else if (type == "log") {
    keep_output(job_.output(message.at("rank").get<int>()), message.at("text"));
  } else if (type == "stop") {
    const int signal = message.at("signal").get<int>();
    const bool at_once = message.at("at_once").get<bool>();
    supervisor_.stop(signal, at_once);
    for (Node& other : nodes_.all()) {
      if (&other != &node) other.link.send(message);
    }
  } else if (type == "failure") {
    const int rank = message.at("rank").get<int>();
    const bool known = rank >= 0 && rank < shared_.ranks();
    if (known) shared_.rank(rank).no_restart = message.at("hopeless").get<bool>();
    supervisor_.fail({.rank = known ? rank : -1,
                      .what = message.at("what").get<std::string>(),
                      .log = known ? job_.output(rank).name : "",
                      .lost = message.at("lost").get<bool>()});
  } else if (type == "done") {
    node.done = true;
  }
}

bool NodeWatch::regroup(Outcome& outcome) {
  for (Node& node : nodes_.all()) node.link.send({{"type", "again"}});
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
    const Value message = node.link.wait(heartbeat_.limit);
    if (!message.is_object()) return false;
    if (message.value("type", "") == "ended") return true;
    take(node, message);
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
    if (beat) node.link.send({{"type", "alive"}, {"ranks", standing_of(shared_)}});
    node.link.flush();
    if (node.done || node.link.silence() < heartbeat_.limit) continue;
    supervisor_.fail({.rank = -1, .what = silent(node.name(), node.link), .log = ""});
  }
}

}  // namespace ddp::launch
