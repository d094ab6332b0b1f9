#include "dist/roll_call.h"

#include <time.h>
#include <functional>
#include <string>
#include <utility>

#include <nlohmann/json.hpp>
#include <torch/csrc/distributed/c10d/Store.hpp>

#include "base/error.h"
#include "base/log.h"
#include "config/value.h"
#include "dist/peer_error.h"

namespace ddp::dist {
namespace {

using RollClock = std::chrono::steady_clock;
using std::chrono::milliseconds;

constexpr const char* kWorldSize = "roll/world-size";  // rank 0's
constexpr const char* kCame = "roll/came";             // the number of processes that have the store
constexpr const char* kThere = "roll/there/";          // the number of processes with this rank
constexpr const char* kCalledOff = "roll/called-off";
constexpr const char* kHeard = "roll/heard";  // the number of processes that know that the meeting is called off

// Ranks that start together come within this time. After it, a rank reports that it waits.
constexpr milliseconds kSilence{1000};
// The longest time for which the host of the store stays after the meeting was called off.
constexpr milliseconds kHostStays{2000};

std::vector<std::uint8_t> as_bytes(const std::string& text) { return {text.begin(), text.end()}; }

std::string text_at(c10d::Store& store, const std::string& key) {
  const std::vector<std::uint8_t> bytes = store.get(key);
  return {bytes.begin(), bytes.end()};
}

void nap(milliseconds time) {
  const timespec pause{.tv_sec = time.count() / 1000, .tv_nsec = time.count() % 1000 * 1'000'000};
  nanosleep(&pause, nullptr);
}

// Why a meeting does not take place.
struct CalledOff {
  std::string what;
  std::string remedy = {};
  std::int64_t signal = 0;  // of a stop
  bool usage = false;       // a mistake of the user

  void fields(config::Fields& f) {
    f({.name = "what"}, what);
    f({.name = "remedy"}, remedy);
    f({.name = "signal"}, signal);
    f({.name = "usage"}, usage);
  }
};

class RollCall {
 public:
  RollCall(c10d::Store& store, const Membership& m) : store_(store), m_(m), begun_(RollClock::now()) {}

  void run() {
    store_.add(kCame, 1);
    if (m_.rank == 0) store_.set(kWorldSize, as_bytes(std::to_string(m_.world_size)));
    wait_for({kWorldSize}, [] { return std::string("0"); });
    require_world_size_of_rank_0();
    if (store_.add(kThere + std::to_string(m_.rank), 1) > 1) refuse_second();
    std::vector<std::string> keys;
    for (int r = 0; r < m_.world_size; ++r) keys.push_back(kThere + std::to_string(r));
    wait_for(keys, [this] { return ranks_away(); });
  }

 private:
  // `away`: the ranks that are not there.
  void wait_for(const std::vector<std::string>& keys, const std::function<std::string()>& away) {
    bool told = false;
    for (;;) {
      if (store_.check({kCalledOff})) end(config::read<CalledOff>(config::Value::parse(text_at(store_, kCalledOff))));
      if (store_.check(keys)) return;
      if (const int signal = m_.stop_signal->load(); signal != 0) {
        call_off({.what = "stopped by a signal while waiting for rank " + of_all(away()) + "; nothing was started",
                  .signal = signal});
      }
      const auto waited = RollClock::now() - begun_;
      if (waited >= m_.timeout) {
        call_off({.what = "rank " + of_all(away()) + " did not come within " + seconds() + " s (distributed.timeout)",
                  .remedy = "start all " + std::to_string(m_.world_size) + " ranks, and look at their own output"});
      }
      if (waited >= kSilence && !std::exchange(told, true)) {
        log::info("waiting for rank " + of_all(away()) + " at " + place() + " (for " + seconds() +
                  " s: distributed.timeout)");
      }
      nap(milliseconds(20 + m_.world_size));
    }
  }

  void require_world_size_of_rank_0() {
    const std::string size = text_at(store_, kWorldSize);
    if (size == std::to_string(m_.world_size)) return;
    call_off({.what = "WORLD_SIZE is " + std::to_string(m_.world_size) + " on rank " + std::to_string(m_.rank) +
                      ", and " + size + " on rank 0",
              .remedy = "give all ranks the same WORLD_SIZE, the number of all ranks",
              .usage = true});
  }

  // Another process has this rank. A run that has begun without this process goes on.
  void refuse_second() {
    std::string remedy = "give each process its own RANK, from 0 to " + std::to_string(m_.world_size - 1);
    if (!m_.meeting.file.empty()) remedy += "; or remove " + m_.meeting.file + ", if a killed run left it";
    const CalledOff twice{
        .what = "rank " + std::to_string(m_.rank) + " is there twice", .remedy = remedy, .usage = true};
    if (ranks_away().empty()) end(twice);
    call_off(twice);
  }

  [[noreturn]] void call_off(const CalledOff& why) {
    store_.set(kCalledOff, as_bytes(config::write(why).dump()));
    end(why);
  }

  [[noreturn]] void end(const CalledOff& why) {
    store_.add(kHeard, 1);
    if (m_.meeting.listener >= 0) wait_for_hearers();
    if (why.usage) throw usage_error(why.what, "", why.remedy);
    if (why.signal == 0) throw PeerLate(why.what, "", why.remedy);
    m_.stop_signal->store(static_cast<int>(why.signal));
    m_.progress.interrupted = true;
    throw training_error(why.what);
  }

  // The store ends with its host, so the host ends last.
  void wait_for_hearers() {
    const auto deadline = RollClock::now() + kHostStays;
    while (store_.add(kHeard, 0) < store_.add(kCame, 0) && RollClock::now() < deadline) nap(milliseconds(10));
  }

  std::string ranks_away() {
    std::string ranks;
    for (int r = 0; r < m_.world_size; ++r) {
      if (!store_.check({kThere + std::to_string(r)})) ranks += (ranks.empty() ? "" : ", ") + std::to_string(r);
    }
    return ranks;
  }

  std::string of_all(const std::string& ranks) const { return ranks + " of " + std::to_string(m_.world_size); }
  std::string seconds() const { return c10::str(static_cast<double>(m_.timeout.count()) / 1000); }
  std::string place() const {
    return m_.meeting.file.empty() ? m_.meeting.host + ":" + std::to_string(m_.meeting.port) : m_.meeting.file;
  }

  c10d::Store& store_;
  const Membership& m_;
  const RollClock::time_point begun_;
};

}  // namespace

void call_roll(c10d::Store& store, const Membership& membership) { RollCall(store, membership).run(); }

}  // namespace ddp::dist
