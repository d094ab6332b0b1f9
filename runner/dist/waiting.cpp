#include "dist/waiting.h"

#include <time.h>
#include <chrono>
#include <functional>
#include <future>
#include <memory>
#include <optional>
#include <thread>

#include <torch/csrc/distributed/c10d/ProcessGroup.hpp>
#include <torch/csrc/distributed/c10d/Store.hpp>

namespace ddp::dist {
namespace {

// Ranks that wait for the same rank time out within moments of each other, and so do ranks that lose the same rank.
constexpr std::chrono::milliseconds kMoment{800};

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
    const timespec pause{.tv_sec = 0, .tv_nsec = 20'000'000};
    nanosleep(&pause, nullptr);
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
          const timespec pause{.tv_sec = 0, .tv_nsec = 20'000'000};
          nanosleep(&pause, nullptr);
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

}  // namespace ddp::dist
