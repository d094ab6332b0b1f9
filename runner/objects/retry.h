#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <stdexcept>
#include <string>

namespace ddp::objects {

// A request that failed.
struct Failure : std::runtime_error {
  enum class Kind { passing, refused, changed, missing };

  Failure(Kind of, const std::string& what, std::chrono::seconds wait_at_least = {})
      : std::runtime_error(what), kind(of), wait(wait_at_least) {}

  Kind kind;                  // passing: another attempt may succeed
  std::chrono::seconds wait;  // the server asks for it
};

// Calls `attempt` until it returns, or a failure is not passing, or `retries` more attempts have failed: waits 0.1 s,
// then twice as long each time, at most a minute. Throws ddp::Error (usage) about the URL, of which the query is left
// out.
void with_retries(std::int64_t retries, const std::string& url, const std::function<void()>& attempt);

}  // namespace ddp::objects
