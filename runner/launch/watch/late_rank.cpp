#include "launch/watch/late_rank.h"

#include <algorithm>
#include <cstdio>
#include <limits>
#include <utility>

namespace ddp::launch {
namespace {

std::string seconds(double value) {
  char text[32];
  std::snprintf(text, sizeof text, "%g s", value);
  return text;
}

std::string stopped_in_words(const record::RankProgress& rank) {
  return rank.stopped ? ", and its process is stopped (SIGSTOP?)" : "";
}

// Describes the rank's last action.
std::string place_in_words(const record::RankProgress& rank) {
  const std::string collective = rank.collective == record::CollectiveKind::none
                                     ? ""
                                     : std::string(", its last collective: ") + record::to_string(rank.collective);
  return record::standing(rank) + collective + stopped_in_words(rank);
}

// Returns the ranks that hold up the others: the stopped ones, or else the ones furthest behind.
std::vector<int> culprits_of(record::SharedProgress& shared, const std::vector<int>& ranks) {
  std::vector<int> stopped;
  std::vector<int> behind;
  std::int64_t least = std::numeric_limits<std::int64_t>::max();
  for (const int r : ranks) {
    const std::int64_t begun = shared.rank(r).collectives;
    if (shared.rank(r).stopped) stopped.push_back(r);
    if (begun < least) behind.clear();
    least = std::min(least, begun);
    if (begun == least) behind.push_back(r);
  }
  return stopped.empty() ? behind : stopped;
}

}  // namespace

LateRank find_late_rank(record::SharedProgress& shared, int waiting, double timeout) {
  const auto& waits = shared.rank(waiting);
  const std::string wait = "rank " + std::to_string(waiting) + " waited for " +
                           record::to_string(waits.collective.load()) + " in " + record::current_step(waits) +
                           " longer than " + seconds(timeout) + " (distributed.timeout)";
  std::vector<int> absent;
  for (int r = 0; r < shared.ranks(); ++r) {
    if (r != waiting && (shared.rank(r).collectives < waits.collectives || shared.rank(r).stopped)) absent.push_back(r);
  }
  const std::vector<int> late = culprits_of(shared, absent);
  std::string away;
  for (const int r : late) {
    const auto& rank = shared.rank(r);
    away += "; rank " + std::to_string(r) + " stays away: it is " + record::standing(rank) + stopped_in_words(rank);
  }
  if (late.empty())
    return {.rank = waiting, .what = wait + ", although every rank joined: is the network between them broken?"};
  return {.rank = late.front(), .what = wait + away, .away = late};
}

bool none_waits(record::SharedProgress& shared) {
  std::int64_t least = shared.rank(0).collectives;
  for (int r = 1; r < shared.ranks(); ++r) least = std::min(least, shared.rank(r).collectives.load());
  for (int r = 0; r < shared.ranks(); ++r) {
    if (!shared.rank(r).stopped && shared.rank(r).collectives > least) return false;
  }
  return true;
}

LateRank find_hung_rank(record::SharedProgress& shared, const std::vector<int>& ranks, double timeout) {
  const int culprit = culprits_of(shared, ranks).front();
  std::string what = "has done nothing for " + seconds(timeout) + " (distributed.timeout): it is " +
                     place_in_words(shared.rank(culprit));
  for (const int r : ranks) {
    if (r != culprit) what += "; nor has rank " + std::to_string(r) + ", " + place_in_words(shared.rank(r));
  }
  return {.rank = culprit, .what = what, .away = ranks};
}

}  // namespace ddp::launch
