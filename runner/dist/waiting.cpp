#include "dist/waiting.h"

#include <time.h>
#include <future>
#include <thread>

#include <torch/csrc/distributed/c10d/ProcessGroup.hpp>
#include <torch/csrc/distributed/c10d/Store.hpp>

namespace ddp::dist {
namespace {

// Ranks that wait for the same rank time out within moments of each other.
constexpr std::chrono::milliseconds kMoment{800};

std::string key_of(int rank) { return "waited-in-vain/" + std::to_string(rank); }

// Reports that `rank` waits, and returns the other ranks that do not report it within a moment.
std::vector<int> ask(c10d::Store& store, int rank, std::vector<int> others) {
  const auto deadline = std::chrono::steady_clock::now() + kMoment;
  store.set(key_of(rank), std::vector<std::uint8_t>{1});
  while (!others.empty() && std::chrono::steady_clock::now() < deadline) {
    std::erase_if(others, [&](int r) { return store.check({key_of(r)}); });
    const timespec pause{.tv_sec = 0, .tv_nsec = 20'000'000};
    nanosleep(&pause, nullptr);
  }
  return others;
}

}  // namespace

std::vector<int> absent_ranks(const Groups& groups, int rank) {
  std::vector<int> others;
  for (int r = 0; r < groups.main->getSize(); ++r) {
    if (r != rank) others.push_back(r);
  }
  // The process that hosts the store may be the one that hangs, so a separate thread asks. It may never return.
  auto answer = std::make_shared<std::promise<std::vector<int>>>();
  std::thread([answer, store = groups.store, rank, others] {
    try {
      answer->set_value(ask(*store, rank, others));
    } catch (...) {
      answer->set_value({0});
    }
  }).detach();
  auto absent = answer->get_future();
  if (absent.wait_for(2 * kMoment) != std::future_status::ready) return {0};
  return absent.get();
}

}  // namespace ddp::dist
