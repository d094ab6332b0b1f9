#include <ATen/Functions.h>
#include <csignal>

#include "catch.h"
#include "shared_ranks.h"
#include "words.h"

namespace ddp::dist {
namespace {

using Clock = std::chrono::steady_clock;
using Tensors = std::vector<at::Tensor>;

double seconds_since(Clock::time_point then) { return std::chrono::duration<double>(Clock::now() - then).count(); }

void reduce_ones(c10d::ProcessGroup& group, std::int64_t size) {
  Tensors one{at::ones({size})};
  group.allreduce(one)->wait();
}

}  // namespace

TEST_CASE("a rank that is killed ends the others' waits at once and is named") {
  for (const std::int64_t size : {100, 2000000}) {
    for (const int victim : {0, 1, 2}) {
      Flag under_way;
      SharedRanks ranks(3, [&](int rank, c10d::ProcessGroup& group) {
        for (int i = 0;; ++i) {
          reduce_ones(group, size);
          if (rank == 1 && i == 20) under_way.raise();
        }
      });
      under_way.wait();
      const auto killed = Clock::now();
      kill(ranks.process(victim), SIGKILL);
      for (int r = 0; r < 3; ++r) {
        if (r == victim) continue;
        const std::string answer = ranks.answer(r);
        INFO(answer);
        CHECK(contains(answer, "gone, its process has ended"));
        CHECK(contains(answer, "all_reduce"));
      }
      // The first rank that notices names it; the others may name a rank that ended because of it.
      WARN("rank " << victim << " killed: the others ended within " << seconds_since(killed) << " s");
      CHECK(seconds_since(killed) < 10);
    }
  }
}

TEST_CASE("a rank that is stopped is named after the timeout") {
  Flag under_way;
  SharedRanks ranks(
      3,
      [&](int rank, c10d::ProcessGroup& group) {
        for (int i = 0;; ++i) {
          reduce_ones(group, 10);
          if (rank == 0 && i == 20) under_way.raise();
        }
      },
      std::chrono::seconds(3));
  under_way.wait();
  kill(ranks.process(2), SIGSTOP);
  const auto stopped = Clock::now();
  std::string first;
  for (const int r : {0, 1}) {
    const std::string answer = ranks.answer(r);
    INFO(answer);
    CHECK((contains(answer, "Timed out waiting 3000ms for rank 2, not arrived at all_reduce") ||
           contains(answer, "gone, its process has ended")));
    first += answer;
  }
  CHECK(contains(first, "Timed out"));
  CHECK(seconds_since(stopped) < 20);
}

TEST_CASE("ranks that do not join at the start are named") {
  SharedRanks ranks(
      2, [](int, c10d::ProcessGroup&) {}, std::chrono::milliseconds(300));
  kill(ranks.process(1), SIGKILL);
  const std::string answer = ranks.answer(0);
  INFO(answer);
  // It may have joined before the kill.
  CHECK((answer.empty() || contains(answer, "rank 1")));
}

TEST_CASE("ranks that call different collectives get an error instead of wrong numbers") {
  SharedRanks ranks(2, [](int rank, c10d::ProcessGroup& group) { reduce_ones(group, rank == 0 ? 10 : 11); });
  const auto answers = ranks.answers();
  INFO(answers[0] << "\n" << answers[1]);
  CHECK(contains(answers[0] + answers[1], "all_reduce of 44 bytes"));
  CHECK(contains(answers[0] + answers[1], "all_reduce of 40 bytes"));
}

TEST_CASE("a rank reads another rank's data only if that rank has called the same collective") {
  // Ranks 0 and 1 gather, while rank 2, which waits for nobody, sends its data for a broadcast.
  SharedRanks ranks(3, [](int rank, c10d::ProcessGroup& group) {
    at::Tensor mine = at::ones({10});
    at::Tensor all = at::empty({30});
    Tensors one{mine};
    if (rank == 2) {
      group.broadcast(one, {.rootRank = 2})->wait();
    } else {
      group._allgather_base(all, mine)->wait();
    }
  });
  const auto answers = ranks.answers();
  for (const int r : {0, 1}) {
    INFO(answers[r]);
    CHECK(contains(answers[r], "rank 2 is at broadcast of 40 bytes"));
  }
}

TEST_CASE("ranks that are several calls ahead of another are not mistaken for ranks that call something else") {
  all_well(3, [](int rank, c10d::ProcessGroup& group) {
    for (int i = 0; i < 300; ++i) {
      // A reduce gives its result only to the root, so a rank that leaves the barrier first does not wait in it for the
      // others.
      group.barrier()->wait();
      for (int call = 0; call < 3; ++call) {
        Tensors one{at::ones({2})};
        group.reduce(one)->wait();
      }
      at::Tensor mine = at::full({5}, static_cast<float>(rank));
      at::Tensor all = at::empty({15});
      group._allgather_base(all, mine)->wait();
      require(all[14].item<float>() == 2, "the last rank's value is there");
    }
  });
}

TEST_CASE("after a failure every call fails with the first error") {
  SharedRanks ranks(2, [](int rank, c10d::ProcessGroup& group) {
    if (rank == 1) return;
    std::string first, second;
    try {
      reduce_ones(group, 10);
    } catch (const std::exception& error) {
      first = error.what();
    }
    try {
      group.barrier()->wait();
    } catch (const std::exception& error) {
      second = error.what();
    }
    require(!first.empty() && first == second, "first: " + first + "; second: " + second);
  });
  CHECK(ranks.answer(0).empty());
}

}  // namespace ddp::dist
