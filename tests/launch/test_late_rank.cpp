#include "catch.h"
#include "launch/late_rank.h"

namespace ddp::launch {

TEST_CASE("who waited in vain has waited for the ranks that were not there") {
  record::ProgressPage page(4);
  for (int r = 0; r < 4; ++r) page.rank(r).collectives = r == 2 ? 6 : 7;
  const LateRank late = find_late_rank(page, 1, 3);
  CHECK(late.rank == 2);
  CHECK(late.away == std::vector{2});
  CHECK(late.what.find("longer than 3 s") != std::string::npos);
}

TEST_CASE("a rank that runs is not to blame where another one is stopped: it may wait for that one") {
  record::ProgressPage page(4);
  page.rank(0).collectives = 6;
  page.rank(1).collectives = 7;
  page.rank(2).collectives = 7;
  page.rank(3).collectives = 6;
  page.rank(3).stopped = true;
  const LateRank late = find_late_rank(page, 1, 3);
  CHECK(late.rank == 3);
  CHECK(late.away == std::vector{3});
  CHECK(late.what.find("rank 3 stays away") != std::string::npos);
  CHECK(late.what.find("rank 0") == std::string::npos);
}

TEST_CASE("of ranks that are late the one furthest behind is to blame: the others may wait for it") {
  record::ProgressPage page(4);
  page.rank(0).collectives = 9;
  page.rank(1).collectives = 9;
  page.rank(2).collectives = 8;
  page.rank(3).collectives = 7;
  const LateRank late = find_late_rank(page, 0, 3);
  CHECK(late.rank == 3);
  CHECK(late.away == std::vector{3});
}

TEST_CASE("where every rank is there, the network is asked after") {
  record::ProgressPage page(2);
  const LateRank late = find_late_rank(page, 1, 3);
  CHECK(late.rank == 1);
  CHECK(late.what.find("is the network between them whole?") != std::string::npos);
}

}  // namespace ddp::launch
