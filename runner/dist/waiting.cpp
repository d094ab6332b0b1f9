#include "dist/waiting.h"

#include <chrono>
#include <functional>
#include <future>
#include <initializer_list>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <thread>
#include <utility>

#include <c10/util/Exception.h>
#include <nlohmann/json.hpp>
#include <torch/csrc/distributed/c10d/ProcessGroup.hpp>
#include <torch/csrc/distributed/c10d/Store.hpp>

#include "base/error.h"
#include "base/file_descriptor.h"
#include "base/log.h"
#include "config/option/fields.h"
#include "config/option/value.h"

namespace ddp::dist {
namespace {

bool has_any(std::string_view text, std::initializer_list<std::string_view> words) {
  for (const auto word : words) {
    if (text.find(word) != std::string_view::npos) return true;
  }
  return false;
}

// Gloo throws gloo::IoException both for a closed connection and for a timeout, and c10d's sockets throw
// c10::DistNetworkError for both. In LibTorch 2.11 only the text of the exception distinguishes the two.
PeerTrouble trouble_in_text(std::string_view text) {
  if (has_any(text,
              {"Connection closed by peer", "Connection reset by peer", "Connection was likely closed", "Broken pipe"}))
    return PeerTrouble::lost;
  if (has_any(text, {"Timed out", "timed out", "imeout after"})) return PeerTrouble::late;
  return PeerTrouble::none;
}

}  // namespace

PeerTrouble peer_trouble(const std::exception& error) {
  if (dynamic_cast<const PeerLost*>(&error) != nullptr) return PeerTrouble::lost;
  if (dynamic_cast<const OtherEndGone*>(&error) != nullptr) return PeerTrouble::lost;
  if (dynamic_cast<const PeerLate*>(&error) != nullptr) return PeerTrouble::late;
  if (dynamic_cast<const Error*>(&error) != nullptr) return PeerTrouble::none;
  const auto* torch = dynamic_cast<const c10::Error*>(&error);
  return trouble_in_text(torch != nullptr ? torch->what_without_backtrace() : error.what());
}

namespace {

// Ranks that wait for the same rank time out within moments of each other, and so do ranks that lose the same rank.
constexpr std::chrono::milliseconds kMoment{800};
constexpr std::chrono::milliseconds kPause{20};  // between two looks at the store

constexpr const char* kInVain = "waited-in-vain/";
constexpr const char* kLost = "lost-a-rank/";
constexpr const char* kEnd = "ended/";
constexpr const char* kAsked = "asked-why/";

std::vector<int> others_than(int rank, int world_size) {
  std::vector<int> others;
  for (int r = 0; r < world_size; ++r) {
    if (r != rank) others.push_back(r);
  }
  return others;
}

// Reports under this topic that `rank` waits, and returns the other ranks that do not report it within a moment.
std::vector<int> ask(c10d::Store& store, const std::string& topic, int rank, std::vector<int> others) {
  const auto deadline = std::chrono::steady_clock::now() + kMoment;
  store.set(topic + std::to_string(rank), std::vector<std::uint8_t>{1});
  while (!others.empty() && std::chrono::steady_clock::now() < deadline) {
    std::erase_if(others, [&](int r) { return store.check({topic + std::to_string(r)}); });
    std::this_thread::sleep_for(kPause);
  }
  return others;
}

// Runs a conversation with the store in a thread, because the process that hosts the store may be the one that hangs:
// then the thread never returns. Returns `otherwise` if the store does not answer.
template <class Answer>
Answer in_time(const std::function<Answer()>& conversation, const Answer& otherwise) {
  auto promise = std::make_shared<std::promise<Answer>>();
  auto answer = promise->get_future();
  std::thread([promise, conversation, otherwise] {
    try {
      promise->set_value(conversation());
    } catch (...) {
      promise->set_value(otherwise);
    }
  }).detach();
  return answer.wait_for(2 * kMoment) == std::future_status::ready ? answer.get() : otherwise;
}

// `ranks`: "1", "1 or 2"
std::string look_at(const std::string& ranks) { return "look at the output of rank " + ranks; }

// "rank 1 of 3 is gone: …", "rank 1 or 2 of 3 is gone: …"
LostRank gone_ranks(const std::vector<int>& gone, int world_size) {
  if (gone.empty()) return {};
  std::string ranks;
  for (const int r : gone) ranks += (ranks.empty() ? "" : " or ") + std::to_string(r);
  return {.what = "rank " + ranks + " of " + std::to_string(world_size) +
                  " is gone: it failed, was killed, or its machine cannot be reached",
          .remedy = look_at(ranks)};
}

// Returns the rank of these that has noted its reason; nothing: none has.
std::optional<LostRank> ended_rank(c10d::Store& store, int rank, const std::vector<int>& others, int world_size) {
  for (const int r : others) {
    const std::string key = kEnd + std::to_string(r);
    if (!store.check({key})) continue;
    const std::vector<std::uint8_t> why = store.get(key);
    store.set(kAsked + std::to_string(rank), std::vector<std::uint8_t>{1});
    return LostRank{.what = "rank " + std::to_string(r) + " of " + std::to_string(world_size) +
                            " has ended: " + std::string(why.begin(), why.end()),
                    .remedy = look_at(std::to_string(r))};
  }
  return {};
}

LostRank ask_why(c10d::Store& store, int rank, int world_size) {
  // The host of the store does not stay for long, so its reason is read first.
  const std::vector<int> others = others_than(rank, world_size);
  if (const auto ended = ended_rank(store, rank, others, world_size)) return *ended;
  const std::vector<int> gone = ask(store, kLost, rank, others);
  const auto ended = ended_rank(store, rank, gone, world_size);
  return ended ? *ended : gone_ranks(gone, world_size);
}

}  // namespace

std::string ranks_without(c10d::Store& store, const std::string& prefix, int world_size) {
  std::string ranks;
  for (int r = 0; r < world_size; ++r) {
    if (!store.check({prefix + std::to_string(r)})) ranks += (ranks.empty() ? "" : ", ") + std::to_string(r);
  }
  return ranks;
}

std::vector<int> absent_ranks(const Groups& groups, int rank) {
  const auto others = others_than(rank, groups.main->getSize());
  return in_time<std::vector<int>>([store = groups.store, rank, others] { return ask(*store, kInVain, rank, others); },
                                   {0});
}

void note_end(const Groups& groups, int rank, const std::string& why) {
  if (!groups.store) return;
  in_time<bool>(
      [store = groups.store, rank, why] {
        store->set(kEnd + std::to_string(rank), std::vector<std::uint8_t>(why.begin(), why.end()));
        return true;
      },
      false);
}

void await_questions(c10d::Store& store, int rank, int world_size) {
  const auto kept = c10::intrusive_ptr<c10d::Store>::reclaim_copy(&store);
  in_time<bool>(
      [kept, rank, world_size] {
        if (!kept->check({kEnd + std::to_string(rank)})) return true;
        const auto deadline = std::chrono::steady_clock::now() + kMoment;
        std::vector<std::string> asked;
        for (const int r : others_than(rank, world_size)) asked.push_back(kAsked + std::to_string(r));
        while (!asked.empty() && !kept->check(asked) && std::chrono::steady_clock::now() < deadline) {
          std::this_thread::sleep_for(kPause);
        }
        return true;
      },
      true);
}

LostRank lost_rank_0() { return {.what = "the process of rank 0 has ended", .remedy = look_at("0")}; }

LostRank lost_rank(c10d::Store& store, int rank, int world_size) {
  const auto kept = c10::intrusive_ptr<c10d::Store>::reclaim_copy(&store);
  return in_time<LostRank>([kept, rank, world_size] { return ask_why(*kept, rank, world_size); },
                           gone_ranks({0}, world_size));
}

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
      std::this_thread::sleep_for(kPause + milliseconds(m_.world_size));
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
    while (store_.add(kHeard, 0) < store_.add(kCame, 0) && RollClock::now() < deadline)
      std::this_thread::sleep_for(kPause);
  }

  std::string ranks_away() const { return ranks_without(store_, kThere, m_.world_size); }

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
