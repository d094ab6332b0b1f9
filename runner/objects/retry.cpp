#include "objects/retry.h"

#include <algorithm>
#include <thread>

#include "base/error.h"
#include "base/url.h"

namespace ddp::objects {
namespace {

using std::chrono::milliseconds;

constexpr milliseconds kFirstWait{100};
constexpr milliseconds kLongestWait{60'000};

Error error_of(const Failure& failure, const std::string& url, std::int64_t attempts) {
  const std::string place = without_query(url);
  switch (failure.kind) {
    case Failure::Kind::passing:
      return usage_error(std::string(failure.what()) + (attempts > 1 ? ", " + std::to_string(attempts) + " times" : ""),
                         place, "try again later; loader.retries allows more attempts");
    case Failure::Kind::changed:
      return usage_error("the object has changed while it was read", place, "start again when it is complete");
    case Failure::Kind::missing:
      return usage_error("there is no such object: " + std::string(failure.what()), place);
    case Failure::Kind::refused:
      break;
  }
  return usage_error(failure.what(), place, "credentials and endpoints come from the environment: AWS_PROFILE, …");
}

}  // namespace

void with_retries(std::int64_t retries, const std::string& url, const std::function<void()>& attempt) {
  milliseconds wait = kFirstWait;
  for (std::int64_t done = 0;; ++done) {
    try {
      return attempt();
    } catch (const Failure& failure) {
      if (failure.kind != Failure::Kind::passing || done == retries) throw error_of(failure, url, done + 1);
      std::this_thread::sleep_for(std::min<milliseconds>(kLongestWait, std::max<milliseconds>(wait, failure.wait)));
      wait = std::min(2 * wait, kLongestWait);
    }
  }
}

}  // namespace ddp::objects
