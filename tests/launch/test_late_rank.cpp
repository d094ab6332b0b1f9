#include <unistd.h>
#include <csignal>

#include "catch.h"
#include "launch/watch/verdict.h"
#include "words.h"

namespace ddp::launch {
namespace {

// Ranks that have started this many collectives each.
struct Ranks : record::SharedProgress {
  explicit Ranks(const std::vector<int>& begun) : SharedProgress(static_cast<int>(begun.size())) {
    for (std::size_t r = 0; r < begun.size(); ++r) rank(static_cast<int>(r)).collectives = begun[r];
  }
};

}  // namespace

TEST_CASE("a rank that timed out waited for the ranks that did not come") {
  Ranks shared({7, 7, 6, 7});
  const Blame late = find_late_rank(shared, 1, 3);
  CHECK(late.failure.rank == 2);
  CHECK(late.hanging == std::vector{2});
  CHECK(contains(late.failure.what, "longer than 3 s"));
}

TEST_CASE("a running rank is not to blame if another one is stopped: it may wait for that one") {
  Ranks shared({6, 7, 7, 6});
  shared.rank(3).stopped = true;
  const Blame late = find_late_rank(shared, 1, 3);
  CHECK(late.failure.rank == 3);
  CHECK(late.hanging == std::vector{3});
  CHECK(contains(late.failure.what, "rank 3 stays away"));
  CHECK_FALSE(contains(late.failure.what, "rank 0"));
}

TEST_CASE("the late rank that is furthest behind is to blame: the others may wait for it") {
  Ranks shared({9, 9, 8, 7});
  const Blame late = find_late_rank(shared, 0, 3);
  CHECK(late.failure.rank == 3);
  CHECK(late.hanging == std::vector{3});
}

TEST_CASE("a rank that only lost another one is not to blame while the cause may still become known") {
  Ranks shared({7, 7, 7});
  shared.rank(1).peer_lost = true;
  Verdict verdict(shared, 3);
  const EndedRank lost{.rank = 1, .log = "", .status = 1 << 8};
  const RunningRanks running{{2, getpid()}};
  CHECK_FALSE(verdict.blame_ended({lost}, running));
  CHECK(verdict.blame_ended({lost, {.rank = 0, .log = "", .status = SIGKILL}}, running).value().failure.rank == 0);
  CHECK(verdict.blame_ended({lost}, {}).value().failure.rank == 1);
}

TEST_CASE("a rank that only lost another one is not to blame while another node may know the cause") {
  Ranks shared({7, 7});
  shared.rank(1).peer_lost = true;
  Verdict verdict(shared, 3);
  verdict.suspect([] { return std::nullopt; });
  CHECK_FALSE(verdict.blame_ended({{.rank = 1, .log = "", .status = 1 << 8}}, {}));
}

TEST_CASE("if no rank is late the network is the suspect") {
  Ranks shared({7, 7});
  const Blame late = find_late_rank(shared, 1, 3);
  CHECK(late.failure.rank == 1);
  CHECK(contains(late.failure.what, "is the network between them broken?"));
}

}  // namespace ddp::launch
