#include <functional>
#include <new>

#include <c10/util/Exception.h>
#include <torch/csrc/distributed/c10d/TCPStore.hpp>

#include "catch.h"
#include "dist/waiting.h"

namespace ddp::dist {
namespace {

PeerTrouble trouble_of(const std::function<void()>& body) {
  try {
    body();
  } catch (const std::exception& error) {
    INFO(error.what());
    return peer_trouble(error);
  }
  FAIL("nothing was thrown");
  return PeerTrouble::none;
}

}  // namespace

TEST_CASE("a timeout at a key of the store means that another rank is late") {
  c10d::TCPStoreOptions options;
  options.port = 0;
  options.isServer = true;
  options.waitWorkers = false;
  c10d::TCPStore store("127.0.0.1", options);
  CHECK(trouble_of([&] { store.wait({"of a rank that never comes"}, std::chrono::milliseconds(20)); }) ==
        PeerTrouble::late);
}

TEST_CASE("the types of our own errors say whether a rank is gone or late, for any text") {
  CHECK(trouble_of([] { throw PeerLost("rank 1 is gone"); }) == PeerTrouble::lost);
  CHECK(trouble_of([] { throw PeerLate("rank 1 is not here"); }) == PeerTrouble::late);
  CHECK(trouble_of([] { throw training_error("results/timed out/1: Connection reset by peer"); }) == PeerTrouble::none);
}

TEST_CASE("the texts of Gloo's and of socket errors say whether a rank is gone or late") {
  CHECK(trouble_of([] { C10_THROW_ERROR(DistNetworkError, "recv: Connection reset by peer"); }) == PeerTrouble::lost);
  CHECK(trouble_of([] { throw std::runtime_error("[pair.cc:547] Connection closed by peer [127.0.0.1]:1"); }) ==
        PeerTrouble::lost);
  CHECK(trouble_of([] { throw std::runtime_error("[unbound_buffer.cc:81] Timed out waiting 3000ms for recv"); }) ==
        PeerTrouble::late);
  CHECK(trouble_of([] { throw std::bad_alloc(); }) == PeerTrouble::none);
}

}  // namespace ddp::dist
