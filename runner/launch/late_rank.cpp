#include "launch/late_rank.h"

#include <cstdio>
#include <string>

namespace ddp::launch {
namespace {

std::string seconds(double value) {
  char text[32];
  std::snprintf(text, sizeof text, "%g s", value);
  return text;
}

}  // namespace

LateRank find_late_rank(record::ProgressPage& page, int waiting, double timeout) {
  const auto& waits = page.rank(waiting);
  const std::string wait = "rank " + std::to_string(waiting) + " waited for " +
                           record::to_string(waits.collective.load()) + " in " + record::current_step(waits) +
                           " longer than " + seconds(timeout) + " (distributed.timeout)";
  std::string away;
  int first = -1;
  for (int r = 0; r < page.ranks(); ++r) {
    const auto& rank = page.rank(r);
    if (r == waiting || (rank.collectives >= waits.collectives && !rank.stopped)) continue;
    if (first < 0) first = r;
    away += "; rank " + std::to_string(r) + " stays away: it is " + record::standing(rank) +
            (rank.stopped ? ", and its process is stopped (SIGSTOP?)" : "");
  }
  if (first < 0)
    return {.rank = waiting, .what = wait + ", though every rank is there: is the network between them whole?"};
  return {.rank = first, .what = wait + away};
}

}  // namespace ddp::launch
