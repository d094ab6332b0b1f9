#include "dist/waiting.h"

#include <time.h>

#include <torch/csrc/distributed/c10d/ProcessGroup.hpp>
#include <torch/csrc/distributed/c10d/Store.hpp>

namespace ddp::dist {
namespace {

// Those who waited for the same rank give up within moments of each other.
constexpr std::chrono::milliseconds kMoment{1200};

std::string key_of(int rank) { return "waited-in-vain/" + std::to_string(rank); }

bool has_come(c10d::Store& store, int rank) { return store.check({key_of(rank)}); }

}  // namespace

bool says_peer_lost(const std::string& what) {
  for (const char* words :
       {"Connection closed by peer", "Connection reset by peer", "Broken pipe", "its process has ended"}) {
    if (what.find(words) != std::string::npos) return true;
  }
  return false;
}

bool says_peer_late(const std::string& what) {
  for (const char* words : {"Timed out", "timed out", "imeout after"}) {
    if (what.find(words) != std::string::npos) return true;
  }
  return false;
}

std::vector<int> absent_ranks(const Groups& groups, int rank) {
  std::vector<int> absent;
  for (int r = 0; r < groups.main->getSize(); ++r) {
    if (r != rank) absent.push_back(r);
  }
  const auto deadline = std::chrono::steady_clock::now() + kMoment;
  if (!groups.store) return {};
  try {
    groups.store->setTimeout(kMoment);
    groups.store->set(key_of(rank), std::vector<std::uint8_t>{1});
    while (!absent.empty() && std::chrono::steady_clock::now() < deadline) {
      std::erase_if(absent, [&](int r) { return has_come(*groups.store, r); });
      const timespec pause{.tv_sec = 0, .tv_nsec = 20'000'000};
      nanosleep(&pause, nullptr);
    }
  } catch (const c10::Error&) {
    return {0};
  }
  return absent;
}

}  // namespace ddp::dist
