#include <sys/socket.h>
#include <atomic>
#include <thread>

#include "catch.h"
#include "errors.h"
#include "launch/cluster/node_link.h"
#include "words.h"

namespace ddp::launch {
namespace {

using namespace std::chrono_literals;

// A link, and its other end, which a stranger holds.
struct Pair {
  FileDescriptor stranger;
  std::unique_ptr<NodeLink> link;

  Pair() {
    int ends[2];
    REQUIRE(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) == 0);
    stranger = FileDescriptor(ends[0]);
    link = std::make_unique<NodeLink>(FileDescriptor(ends[1]));
  }
};

// Sends the text repeatedly until the other end closes or `stop` is set.
std::thread sending(const FileDescriptor& socket, const std::string& text, bool again, const std::atomic<bool>& stop) {
  return std::thread([&socket, text, again, &stop] {
    do {
      for (std::size_t at = 0; at < text.size() && !stop;) {
        const ssize_t sent = send(socket.get(), text.data() + at, text.size() - at, MSG_NOSIGNAL);
        if (sent <= 0) return;
        at += static_cast<std::size_t>(sent);
      }
    } while (again && !stop);
  });
}

// Returns how many messages a link reads from this text until it closes.
std::size_t messages_of(const std::string& text) {
  Pair pair;
  std::atomic<bool> stop{false};
  std::thread sender = sending(pair.stranger, text, false, stop);
  std::size_t count = 0;
  const auto deadline = NodeLink::Clock::now() + 60s;
  while (!pair.link->closed() && NodeLink::Clock::now() < deadline) {
    if (pair.link->wait(100ms)) ++count;
    if (count > 0) break;
  }
  pair.link.reset();
  sender.join();
  return count;
}

}  // namespace

TEST_CASE("messages are read one per line for any division into packets") {
  Pair pair;
  const std::string text =
      "{\"type\":\"refused\",\"why\":\"a\\n\"}\n{\"type\":\"failed\",\"why\":\"b\"}\n{\"type\":\"done\"}\n";
  std::vector<message::Any> got;
  for (const char c : text) {
    REQUIRE(send(pair.stranger.get(), &c, 1, 0) == 1);
    for (const message::Any& one : pair.link->receive()) got.push_back(one);
  }
  REQUIRE(got.size() == 3);
  CHECK(std::get<message::Refused>(got[0]).why == "a\n");
  CHECK(std::get<message::Failed>(got[1]).why == "b");
  CHECK(std::holds_alternative<message::Done>(got[2]));
  REQUIRE(send(pair.stranger.get(), text.data(), text.size(), 0) == static_cast<ssize_t>(text.size()));
  CHECK(pair.link->receive().size() == 3);
  CHECK_FALSE(pair.link->closed());
}

TEST_CASE("an invalid line closes the link, and the messages before it count") {
  for (const char* text : {"nonsense\n", "{}\n", "[]\n", "{\"type\":1}\n", "{\"type\":\"done\",\"type\":\"again\"}\n",
                           "{\"type\":\"other\"}\n", "{\"type\":\"log\",\"rank\":-1,\"text\":\"\"}\n",
                           "{\"type\":\"hello\",\"node\":4294967297,\"terms\":{}}\n",
                           "{\"type\":\"alive\",\"ranks\":[[1,2,3,4,false]]}\n"}) {
    Pair pair;
    const std::string sent = std::string("{\"type\":\"done\"}\n") + text + "{\"type\":\"done\"}\n";
    REQUIRE(send(pair.stranger.get(), sent.data(), sent.size(), 0) == static_cast<ssize_t>(sent.size()));
    INFO(text);
    CHECK(pair.link->receive().size() == 1);
    CHECK(pair.link->closed());
  }
}

TEST_CASE("a message that is nested too deep, has too many keys or never ends closes the link in time") {
  const auto start = std::chrono::steady_clock::now();
  std::string keys = "{\"type\":\"hello\",\"terms\":{";
  for (int i = 0; i < 500'000; ++i) keys += "\"" + std::to_string(i) + "\":0,";
  CHECK(messages_of(keys + "\"x\":0}}\n") == 0);
  CHECK(messages_of("{\"type\":\"hello\",\"terms\":" + std::string(4 << 20, '[') + std::string(4 << 20, ']') + "}\n") ==
        0);
  CHECK(messages_of("{\"type\":\"" + std::string(40 << 20, 'x')) == 0);
  CHECK(messages_of("{\"type\":\"again\"}\n") == 1);
  CHECK(std::chrono::steady_clock::now() - start < 60s);
}

TEST_CASE("a sender that never stops gives each receive only a bounded part") {
  Pair pair;
  std::atomic<bool> stop{false};
  std::thread sender = sending(pair.stranger, "{\"type\":\"done\"}\n", true, stop);
  std::size_t most = 0;
  for (int look = 0; look < 5; ++look) most = std::max(most, pair.link->receive().size());
  CHECK(most * 16 <= (1 << 20) + 65536 + 16);
  stop = true;
  pair.link.reset();
  sender.join();
}

TEST_CASE("nodes do not meet at all addresses of a machine") {
  CHECK(resolve("::1", 1).ip == "::1");
  for (const char* host : {"0.0.0.0", "::", "0"}) {
    CHECK(contains(error_of([&] { resolve(host, 1); }), "stands for all addresses of a machine"));
  }
}

TEST_CASE("a name that is not known yet is no error, and what cannot be a name is one") {
  CHECK_FALSE(resolve_if_known("no-such-host.invalid", 1));
  CHECK(resolve_if_known("127.0.0.1", 7)->text() == "127.0.0.1:7");
  CHECK(contains(error_of([] { resolve_if_known("127.0.0.1:29500", 1); }), "cannot find this host"));
  CHECK(is_of_this_machine({.ip = "127.0.0.1"}));
  CHECK_FALSE(is_of_this_machine({.ip = "192.0.2.1"}));  // RFC 5737: no machine has it
}

}  // namespace ddp::launch
