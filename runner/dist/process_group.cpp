#include "dist/process_group.h"

#include <algorithm>
#include <array>
#include <cstdlib>
#include <exception>
#include <future>
#include <iostream>
#include <memory>
#include <streambuf>
#include <string_view>
#include <thread>

#include <torch/csrc/distributed/c10d/FileStore.hpp>
#include <torch/csrc/distributed/c10d/PrefixStore.hpp>
#include <torch/csrc/distributed/c10d/ProcessGroup.hpp>
#include <torch/csrc/distributed/c10d/TCPStore.hpp>

#include "base/error.h"
#include "config/components.h"
#include "dist/backends/backend.h"
#include "dist/waiting.h"

namespace ddp::dist {
namespace {

StorePointer open_shared_store(const Membership& m) {
  if (!m.meeting.file.empty()) return c10::make_intrusive<c10d::FileStore>(m.meeting.file, m.world_size);
  // Without a socket, TCPStore listens on every interface. So the parent or launcher process passes a socket that is
  // bound to the group's meeting address.
  c10d::TCPStoreOptions options;
  options.port = m.meeting.port;
  options.isServer = m.meeting.listener >= 0;
  options.numWorkers = static_cast<std::size_t>(m.world_size);
  options.waitWorkers = false;
  options.timeout = m.timeout;
  if (options.isServer) options.masterListenFd = m.meeting.listener;
  return c10::make_intrusive<c10d::TCPStore>(m.meeting.host, options);
}

StorePointer open_store(const Membership& m) {
  StorePointer store = open_shared_store(m);
  store->setTimeout(m.timeout);
  if (m.meeting.prefix.empty()) return store;
  return c10::make_intrusive<c10d::PrefixStore>(m.meeting.prefix, store);
}

// The process that answers at the store's address may be another program, which c10d tries for longer than the timeout.
// So the store is opened in a thread, which is left behind if it does not return in time.
StorePointer open_in_time(const Membership& m) {
  if (m.stop_signal == nullptr || m.meeting.listener >= 0 || !m.meeting.file.empty()) return open_store(m);
  auto promise = std::make_shared<std::promise<StorePointer>>();
  auto opened = promise->get_future();
  std::thread([promise, m] {
    try {
      promise->set_value(open_store(m));
    } catch (...) {
      promise->set_exception(std::current_exception());
    }
  }).detach();
  const auto until = std::chrono::steady_clock::now() + m.timeout;
  try {
    while (std::chrono::steady_clock::now() < until) {
      if (opened.wait_for(std::chrono::milliseconds(20)) == std::future_status::ready) return opened.get();
      // Rank 0 may have stopped already. Unwinding removes this rank's data from the cache.
      if (m.stop_signal->load() == 0) continue;
      m.progress.interrupted = true;
      throw training_error("stopped by a signal while waiting for rank 0; nothing was started");
    }
  } catch (const c10::Error&) {
    // c10d's text names neither the program nor the remedy.
  }
  throw PeerLate("cannot talk to rank 0", m.meeting.host + ":" + std::to_string(m.meeting.port),
                 "is another program at this port? check MASTER_ADDR and MASTER_PORT, and rank 0's output");
}

// The store as the groups keep it: its host, if it fails, stays until the other ranks know why.
std::shared_ptr<c10d::Store> shared_by_groups(const StorePointer& store, const Membership& m) {
  const bool last = m.stop_signal != nullptr && m.meeting.listener >= 0;
  return {store.get(), [kept = store, last, rank = m.rank, size = m.world_size](c10d::Store*) {
            if (last) await_questions(*kept, rank, size);
          }};
}

constexpr const char* kArrived = "arrived/";  // the prefix of the key that a rank sets in the store when it has come

// Returns the ranks that have not come to the store; empty if it cannot be asked.
std::string ranks_away(const StorePointer& store, const Membership& m) try {
  return store ? ranks_without(*store, kArrived, m.world_size) : "";
} catch (const c10::Error&) {
  return "";
}

// The error of a rank that waited until distributed.timeout. c10d's text does not name the missing ranks.
PeerLate late_to_join(const StorePointer& store, const Membership& m, const std::string& text) {
  const std::string within =
      " within " + c10::str(static_cast<double>(m.timeout.count()) / 1000) + " s (distributed.timeout)";
  const std::string remedy = "start all " + std::to_string(m.world_size) + " ranks, and look at their own output";
  if (const std::string away = ranks_away(store, m); !away.empty()) {
    return PeerLate("rank " + away + " of " + std::to_string(m.world_size) + " did not come" + within, "", remedy);
  }
  return PeerLate("cannot join the process group" + within + ": " + text, "", remedy);
}

PeerLost lost_while_joining(const StorePointer& store, const Membership& m) {
  const LostRank lost = store ? lost_rank(*store, m.rank, m.world_size) : lost_rank_0();
  return PeerLost("cannot join the process group: " + lost.what, "", lost.remedy);
}

// Makes the group for CPU messages, which never go through NCCL.
Group make_control_group(const StorePointer& store, Membership m) {
  m.backend = "gloo";
  m.device = "cpu";
  return connect_gloo(c10::make_intrusive<c10d::ProcessGroup>(store, m.rank, m.world_size),
                      c10::make_intrusive<c10d::PrefixStore>("control", store), m);
}

// Parts of the messages, from torch/csrc/distributed/c10d/socket.cpp, TCPStore.cpp and Utils.hpp.
constexpr std::array<std::string_view, 8> kNoise{"[c10d] The hostname of the client socket cannot be retrieved",
                                                 "[c10d] The client socket has timed out",
                                                 "[c10d] TCP client failed to connect/validate",
                                                 "[c10d] waitForInput: ",
                                                 "[c10d] recvValue failed on ",
                                                 "[c10d] recvValueWithTimeout failed on ",
                                                 "[c10d] recvVector failed on ",
                                                 "[c10d] sendBytes failed on "};

bool is_noise(std::string_view message) {
  const std::string_view line = message.substr(0, message.find('\n'));
  return std::any_of(kNoise.begin(), kNoise.end(),
                     [line](std::string_view part) { return line.find(part) != std::string_view::npos; });
}

// Passes on to std::cerr's buffer what is no noise. LibTorch writes each message to std::cerr as one text.
class WithoutNoise : public std::streambuf {
 public:
  explicit WithoutNoise(std::streambuf* out) : out_(out) {}

 protected:
  std::streamsize xsputn(const char* text, std::streamsize size) override {
    return is_noise({text, static_cast<std::size_t>(size)}) ? size : out_->sputn(text, size);
  }
  int_type overflow(int_type c) override {
    return traits_type::eq_int_type(c, traits_type::eof()) ? traits_type::not_eof(c)
                                                           : out_->sputc(traits_type::to_char_type(c));
  }
  int sync() override { return out_->pubsync(); }

 private:
  std::streambuf* const out_;
};

// Leaves out of this process's stderr what c10d's store logs about its connections: that an address has no host name,
// which is harmless, and lost or missing connections, sometimes with a C++ backtrace. The errors of join_process_groups
// and of the collectives say the same with the rank's number. All other messages of LibTorch stay. A user who sets
// TORCH_CPP_LOG_LEVEL sees everything.
void leave_out_meeting_noise() {
  if (std::getenv("TORCH_CPP_LOG_LEVEL") != nullptr) return;
  // Never destroyed: LibTorch's threads may log until the process ends.
  static auto* const filter = new WithoutNoise(std::cerr.rdbuf());
  std::cerr.rdbuf(filter);
}

}  // namespace

Groups join_process_groups(const Membership& m, bool control) {
  StorePointer store;
  try {
    const config::Transport transport = config::transport_of(backends().traits(m.backend));
    if (transport.shares_memory && m.ranks_here == m.world_size) {
      return {.store = nullptr,
              .main = backends().build(m.backend, config::Value::object(), nullptr, m),
              .control = nullptr};
    }
    leave_out_meeting_noise();
    store = open_in_time(m);
    if (m.stop_signal != nullptr && m.meeting.prefix.empty()) call_roll(*store, m);
    store->set(kArrived + std::to_string(m.rank), std::vector<std::uint8_t>{1});
    Groups groups;
    groups.store = shared_by_groups(store, m);
    if (control) groups.control = make_control_group(store, m);
    groups.main = backends().build(m.backend, config::Value::object(), store, m);
    return groups;
  } catch (const c10::Error& error) {
    const PeerTrouble peer = peer_trouble(error);
    if (peer == PeerTrouble::lost) throw lost_while_joining(store, m);
    if (peer == PeerTrouble::late) throw late_to_join(store, m, error.msg());
    throw training_error("cannot join the process group: " + error.msg(), "rank " + std::to_string(m.rank));
  }
}

void leave(const Group& group) {
  if (group) group->shutdown();
}

}  // namespace ddp::dist
