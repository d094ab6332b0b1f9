#include <functional>
#include <new>

#include <ATen/Functions.h>
#include <c10/util/Exception.h>
#include <torch/csrc/distributed/c10d/TCPStore.hpp>

#include "catch.h"
#include "dist/collective_op.h"
#include "dist/waiting.h"

namespace ddp::dist {
namespace {

constexpr at::ScalarType kTypes[] = {at::kFloat, at::kDouble, at::kHalf, at::kBFloat16,
                                     at::kChar,  at::kByte,   at::kInt,  at::kLong};

at::Tensor filled(const Pattern& pattern, at::ScalarType dtype, std::int64_t size, int rank) {
  at::Tensor tensor = at::empty({size}, dtype);
  pattern.fill(tensor, rank);
  return tensor;
}

}  // namespace

TEST_CASE("the sum of all ranks' values is exact in every type and any order") {
  for (const auto dtype : kTypes) {
    for (const int ranks : {1, 2, 3, 8, 100, 700}) {
      const Pattern pattern(dtype, ranks);
      at::Tensor upwards = at::zeros({1000}, dtype);
      at::Tensor downwards = at::zeros({1000}, dtype);
      for (int r = 0; r < ranks; ++r) {
        upwards += filled(pattern, dtype, 1000, r);
        downwards += filled(pattern, dtype, 1000, ranks - 1 - r);
      }
      INFO(at::toString(dtype) << " over " << ranks << " ranks");
      CHECK(pattern.compare_sum(upwards).count == 0);
      CHECK(pattern.compare_sum(downwards).count == 0);
    }
  }
}

TEST_CASE("a wrong value is reported with its index, the value and the right value") {
  const Pattern pattern(at::kFloat, 1);
  at::Tensor tensor = filled(pattern, at::kFloat, 1000000, 3);
  CHECK(pattern.compare(tensor, 3).count == 0);
  const double right = tensor[700000].item<double>();
  tensor[700000] += 1;
  tensor[999999] = std::nan("");
  const Mismatch found = pattern.compare(tensor, 3);
  CHECK(found.count == 2);
  CHECK(found.index == 700000);
  CHECK(found.expected == right);
  CHECK(found.got == right + 1);
}

TEST_CASE("values of another rank or another place, and values that never arrived, are wrong") {
  for (const auto dtype : kTypes) {
    const Pattern pattern(dtype, 1);
    const at::Tensor tensor = filled(pattern, dtype, 10000, 1);
    INFO(at::toString(dtype));
    CHECK(pattern.compare(tensor, 2).count > 9000);
    for (const int places : {1, 2, 64, 1024}) CHECK(pattern.compare(tensor.roll(places), 1).count > 9000);
    at::Tensor spoilt = at::empty({10000}, dtype);
    pattern.spoil(spoilt);
    for (const int rank : {0, 1, 7}) CHECK(pattern.compare(spoilt, rank).count == 10000);
  }
}

TEST_CASE("a sum that lacks a rank, or has one twice, is wrong") {
  for (const auto dtype : kTypes) {
    const Pattern pattern(dtype, 4);
    at::Tensor sum = at::zeros({1000}, dtype);
    for (int r = 0; r < 3; ++r) sum += filled(pattern, dtype, 1000, r);
    INFO(at::toString(dtype));
    CHECK(pattern.compare_sum(sum).count > 900);
    sum += filled(pattern, dtype, 1000, 2);
    CHECK(pattern.compare_sum(sum).count > 900);
  }
}

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
