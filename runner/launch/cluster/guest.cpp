#include "launch/cluster/guest.h"

#include <unistd.h>
#include <cerrno>
#include <csignal>
#include <thread>

#include "base/log.h"
#include "base/own_command.h"
#include "launch/process/program.h"
#include "record/file/atomic_file.h"

namespace ddp::launch {
namespace {

using config::Value;
using Clock = NodeLink::Clock;
using std::chrono::milliseconds;

// Node 0 ends its ranks and writes the summary, perhaps to a slow disk, before it reports how the run ended.
constexpr milliseconds kVerdictPatience{15000};
// Interval for looking at signals.
constexpr milliseconds kSignalLook{200};

// Returns a stop signal that waits for this process; 0: none.
int pending_stop() {
  sigset_t pending;
  sigpending(&pending);
  for (const int signal : kStopSignals) {
    if (sigismember(&pending, signal) == 1 && is_heard(signal)) return signal;
  }
  return 0;
}

// Returns node 0's address; nothing while its name is not known, or the meeting file does not exist.
std::optional<Address> place_of_node_0(const Launch& launch) {
  if (launch.meeting_file.empty()) return resolve_if_known(launch.master_host, launch.master_port);
  std::error_code none;
  if (!std::filesystem::exists(launch.meeting_file, none)) return {};
  const std::string text = record::read_text(launch.meeting_file);
  const auto colon = text.rfind(':');
  if (colon == std::string::npos) return {};
  const std::string ip = text.front() == '[' ? text.substr(1, colon - 2) : text.substr(0, colon);
  return Address{.ip = ip, .port = static_cast<std::uint16_t>(std::atoi(text.c_str() + colon + 1))};
}

std::string place_in_words(const Launch& launch) {
  return launch.meeting_file.empty() ? launch.master_host + ":" + std::to_string(launch.master_port)
                                     : launch.meeting_file;
}

// Returns node 0's message, which is of this type. Throws ddp::Error (training) if it is another one.
template <class T>
T expected(message::Any message) {
  if (T* const found = std::get_if<T>(&message)) return std::move(*found);
  throw training_error("sent another message than expected", "node 0");
}

}  // namespace

void Guest::join(const Value& terms, milliseconds patience) {
  find_node_0(patience);
  link_->send(message::Hello{.node = launch_.node_rank, .terms = terms});
  message::Any answer = next_message(patience);
  if (const auto* refused = std::get_if<message::Refused>(&answer)) {
    throw usage_error("node 0 refuses this node: " + refused->why);
  }
  if (over()) return;
  welcome_ = expected<message::Welcome>(std::move(answer));
  if (launch_.max_restarts > 0 && welcome_.restarts == 0) {
    log::warn("--max-restarts has no effect here: node 0, which was started without it, restarts the ranks");
  }
}

void Guest::find_node_0(milliseconds patience) {
  const auto deadline = Clock::now() + patience;
  bool told = false;
  while (Clock::now() < deadline) {
    if (const auto place = place_of_node_0(launch_)) {
      FileDescriptor socket = connect_to(*place, milliseconds(1000));
      if (socket) {
        link_ = std::make_unique<NodeLink>(std::move(socket));
        log::info("node " + std::to_string(launch_.node_rank) + " of " + std::to_string(launch_.nodes) +
                  ", with node 0 at " + place->text());
        return;
      }
    }
    if (!std::exchange(told, true)) log::info("waiting for node 0 at " + place_in_words(launch_));
    std::this_thread::sleep_for(milliseconds(100));
  }
  throw training_error("node 0 is not there after " + in_seconds(patience) + " (distributed.timeout)",
                       place_in_words(launch_));
}

// Returns node 0's next message.
message::Any Guest::next_message(milliseconds patience) {
  // Node 0 waits for the other nodes equally long, and sends a message after that.
  return accepted(link_->wait(patience + kVerdictPatience));
}

// Returns the message. `End` ends this node; nothing: no message came.
message::Any Guest::accepted(const std::optional<message::Any>& message) {
  if (!message) {
    throw training_error(link_->closed() ? "ended before the run began" : "does not answer",
                         "node 0 (" + link_->peer() + ")");
  }
  const auto* const end = message::get_if<message::End>(message);
  if (end != nullptr && end->code != 0) {
    throw end->code == 2 ? usage_error(end->why, "node 0") : training_error(end->why, "node 0");
  }
  if (end != nullptr) end_ = *end;
  return *message;
}

void Guest::decline(const std::string& why) { link_->send(message::Failed{why}); }

void Guest::start_ranks(const message::Start& start, const Job& job, Supervisor& supervisor,
                        record::SharedProgress& shared) {
  const MeetingPoint meeting{.listener = {},
                             .address = {.ip = welcome_.ip, .port = start.store_port},
                             .file = {},
                             .own_ip = own_ip_towards({.ip = welcome_.ip, .port = 1})};
  std::vector<FileDescriptor> ends;  // of the ranks' output, until the ranks have them
  Job here = job;
  here.output = [&](int rank) {
    Pipe output = make_pipe(/*reads_wait=*/false);
    outputs_.push_back({.rank = rank, .from = std::move(output.from)});
    ends.push_back(std::move(output.to));
    return RankOutput{.descriptor = ends.back().get(), .name = "on node 0"};
  };
  // Rank 0 reports where they start from.
  launch::start_ranks(here, meeting, /*together=*/false, supervisor, shared);
  for (const Output& output : outputs_) {
    supervisor.watch_also(output.from.get(), [this, &output] { return send_output(output); });
  }
}

// Sends a rank's output to its log on node 0. Returns false at its end.
bool Guest::send_output(const Output& output) {
  char piece[16384];
  for (;;) {
    const ssize_t size = read(output.from.get(), piece, sizeof piece);
    if (size < 0 && errno == EINTR) continue;
    if (size <= 0) return size < 0;
    link_->send(message::Log{.rank = output.rank, .text = std::string(piece, static_cast<std::size_t>(size))});
  }
}

void Guest::receive(const Plan& plan, Supervisor& supervisor, record::SharedProgress& shared) {
  for (const message::Any& message : link_->receive()) {
    if (const auto* stop = std::get_if<message::Stop>(&message)) supervisor.stop(stop->signal, stop->at_once);
    if (const auto* alive = std::get_if<message::Alive>(&message)) note_standing(*alive, shared, plan);
    if (const auto* end = std::get_if<message::End>(&message)) end_ = *end;
    again_ = again_ || std::holds_alternative<message::Again>(message);
  }
  // Node 0 sends `end` when all is done, or when a rank elsewhere has failed. Either way nothing is left to do here;
  // the same holds before all ranks start again.
  if (end_ || again_ || link_->closed()) {
    const std::string why = end_ ? end_->why : "node 0 (" + link_->peer() + ") is gone";
    supervisor.fail({.rank = -1, .what = why, .log = ""});
  }
}

void Guest::tick(const Plan& plan, Supervisor& supervisor, record::SharedProgress& shared) {
  const Heartbeat heartbeat(plan.experiment.distributed.timeout);
  if (Clock::now() - last_beat_ >= heartbeat.every) {
    last_beat_ = Clock::now();
    supervisor.note_stopped();
    link_->send(standing_of(shared));
  }
  link_->flush();
  if (link_->silence() < heartbeat.limit) return;
  supervisor.fail({.rank = -1, .what = silent("node 0 (" + link_->peer() + ")", *link_), .log = ""});
}

// Returns node 0's `Start`; nothing: it is over. An elastic run may do without this node for a while: then heartbeats
// come, and this node ends if it is asked to stop.
std::optional<message::Start> Guest::wait_for_start(const Plan& plan) {
  const auto patience =
      milliseconds(static_cast<std::int64_t>(plan.experiment.distributed.timeout * 1000)) + kVerdictPatience;
  bool idle = false;
  for (auto deadline = Clock::now() + patience;;) {
    // Otherwise ranks start in a moment, and save.
    if (const int signal = idle ? pending_stop() : 0) end_ = message::End{.code = 128 + signal};
    if (over()) return {};
    const auto message = link_->wait(kSignalLook);
    if (!message && !link_->closed() && Clock::now() < deadline) continue;
    if (const auto* end = message::get_if<message::End>(message); end != nullptr && end->code > 128) {
      end_ = *end;
      return {};
    }
    const message::Any next = accepted(message);
    if (over()) return {};
    idle = std::holds_alternative<message::Alive>(next);
    if (idle) {
      link_->send(message::Waiting{});
    } else if (std::holds_alternative<message::Again>(next)) {
      link_->send(message::Ended{});
    } else {
      return expected<message::Start>(next);
    }
    deadline = Clock::now() + patience;
  }
}

int Guest::run(const Job& job) {
  // A signal between two groups of ranks must reach the second group.
  const BlockedStopSignals signals;
  link_->send(message::Ready{.devices = job.plan.device_names(), .data = job.data});
  for (;;) {
    const std::optional<message::Start> start = wait_for_start(job.plan);
    if (!start) return end_->code;
    const Plan plan = job.plan.in({.nodes = start->nodes, .ranks_here = start->ranks_here}, start->place, start->lost);
    const Outcome outcome = run_group(
        {.plan = plan, .as_rank = job.as_rank, .saves = job.saves, .task = job.task, .kept = job.kept}, *start);
    receive_verdict(outcome);
    if (!std::exchange(again_, false)) return conclude(outcome, job);
    log::warn("node 0 starts all ranks again");
    link_->send(message::Ended{});
  }
}

Outcome Guest::run_group(const Job& job, const message::Start& start) {
  const Plan& plan = job.plan;
  record::SharedProgress shared(plan.world_size());
  outputs_.clear();
  Supervisor supervisor(shared, plan.experiment, job.saves);
  start_ranks(start, job, supervisor, shared);
  supervisor.watch_also(link_->descriptor(), [&] {
    receive(plan, supervisor, shared);
    return !link_->closed();
  });
  supervisor.watch_over([&] { tick(plan, supervisor, shared); });
  supervisor.suspect([&]() -> std::optional<std::string> {
    const Heartbeat heartbeat(plan.experiment.distributed.timeout);
    if (link_->silence() <= heartbeat.worrying()) return {};
    return silent("node 0 (" + link_->peer() + ")", *link_);
  });
  supervisor.tell_stop(
      [this](int signal, bool at_once) { link_->send(message::Stop{.signal = signal, .at_once = at_once}); });
  const Outcome outcome = supervisor.watch();
  for (const Output& output : outputs_) send_output(output);
  send_outcome(outcome, shared);
  return outcome;
}

void Guest::send_outcome(const Outcome& outcome, record::SharedProgress& shared) {
  if (!outcome.failure) return link_->send(message::Done{});
  const record::Failure& failure = *outcome.failure;
  if (failure.rank < 0) return;
  link_->send(message::Failure{.rank = failure.rank,
                               .what = failure.what,
                               .lost = failure.lost,
                               .hopeless = shared.rank(failure.rank).no_restart.load()});
}

// Node 0 sees all ranks, so it reports the cause and decides what follows.
void Guest::receive_verdict(const Outcome& outcome) {
  while (!end_ && !again_ && !link_->closed()) {
    const auto message = link_->wait(outcome.failure ? kVerdictPatience : milliseconds(60000));
    if (!message) return;
    if (const auto* end = message::get_if<message::End>(message)) end_ = *end;
    again_ = message::get_if<message::Again>(message) != nullptr;
  }
}

// Node 0 went away without a verdict: returns how the run continues.
std::string Guest::how_to_continue(const Job& job) const {
  if (!job.saves) return "";
  return "\n  to continue from its last checkpoint, on all " + std::to_string(launch_.nodes) +
         " nodes with the launch flags of this command, and on node 0 with its --results: " +
         own_command("resume " + shell_word(job.plan.experiment.name));
}

int Guest::conclude(const Outcome& outcome, const Job& job) {
  if (end_) {
    if (!end_->why.empty()) log::error(end_->why);
    return end_->code;
  }
  log::error((outcome.failure ? outcome.failure->what : "node 0 (" + link_->peer() + ") is gone") +
             how_to_continue(job));
  return 1;
}

int take_part(const Launch& launch, const config::Value& terms, std::chrono::milliseconds patience,
              const std::function<Job(const Guest& guest)>& make_job) {
  Guest guest(launch);
  guest.join(terms, patience);
  if (guest.over()) return 0;
  std::optional<Job> job;
  try {
    job.emplace(make_job(guest));
  } catch (const Error& error) {
    guest.decline(error.what());
    throw;
  }
  return guest.run(*job);
}

}  // namespace ddp::launch
