#include <csignal>

#include "catch.h"
#include "launch/process/stop_signals.h"

namespace ddp::launch {

TEST_CASE("a terminal that closes, and USR1, stop a run and never cut the save of a stopped one") {
  StopSignals signals(/*echo_seconds=*/-1);
  CHECK_FALSE(signals.at_once(SIGHUP));
  CHECK_FALSE(signals.at_once(SIGHUP));
  CHECK_FALSE(signals.at_once(SIGUSR1));
  CHECK(signals.at_once(SIGTERM));
  StopSignals others;
  CHECK_FALSE(others.at_once(SIGTERM));
  CHECK_FALSE(others.at_once(SIGTERM));  // an echo
  CHECK(others.at_once(SIGINT));
}

TEST_CASE("HUP is not heard under nohup") {
  const auto hears = [](int signal) {
    const sigset_t set = stop_signal_set();
    return sigismember(&set, signal) == 1;
  };
  const auto before = std::signal(SIGHUP, SIG_DFL);
  CHECK(hears(SIGHUP));
  std::signal(SIGHUP, SIG_IGN);
  CHECK_FALSE(hears(SIGHUP));
  CHECK(hears(SIGUSR1));
  std::signal(SIGHUP, before);
}

}  // namespace ddp::launch
