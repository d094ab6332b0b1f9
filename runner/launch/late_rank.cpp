#include "launch/late_rank.h"

#include <algorithm>
#include <cstdio>
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

// What it did last.
std::string place_in_words(const record::RankProgress& rank) {
  const std::string collective = rank.collective == record::Collective::none
                                     ? ""
                                     : std::string(", its last collective: ") + record::to_string(rank.collective);
  return record::standing(rank) + collective + stopped_in_words(rank);
}

}  // namespace

LateRank find_late_rank(record::ProgressPage& page, int waiting, double timeout) {
  const auto& waits = page.rank(waiting);
  const std::string wait = "rank " + std::to_string(waiting) + " waited for " +
                           record::to_string(waits.collective.load()) + " in " + record::current_step(waits) +
                           " longer than " + seconds(timeout) + " (distributed.timeout)";
  // Of those that are late, who is stopped or furthest behind holds up the rest.
  std::vector<int> stopped;
  std::vector<int> behind;
  std::int64_t least = waits.collectives;
  for (int r = 0; r < page.ranks(); ++r) {
    const std::int64_t done = page.rank(r).collectives;
    if (r == waiting) continue;
    if (page.rank(r).stopped) stopped.push_back(r);
    if (done < least) behind.clear();
    least = std::min(least, done);
    if (done < waits.collectives && done == least) behind.push_back(r);
  }
  const std::vector<int>& late = stopped.empty() ? behind : stopped;
  std::string away;
  for (const int r : late) {
    const auto& rank = page.rank(r);
    away += "; rank " + std::to_string(r) + " stays away: it is " + record::standing(rank) + stopped_in_words(rank);
  }
  if (late.empty())
    return {.rank = waiting, .what = wait + ", though every rank is there: is the network between them whole?"};
  return {.rank = late.front(), .what = wait + away, .away = late};
}

bool none_waits(record::ProgressPage& page) {
  std::int64_t least = page.rank(0).collectives;
  for (int r = 1; r < page.ranks(); ++r) least = std::min(least, page.rank(r).collectives.load());
  for (int r = 0; r < page.ranks(); ++r) {
    if (!page.rank(r).stopped && page.rank(r).collectives > least) return false;
  }
  return true;
}

LateRank find_hung_rank(record::ProgressPage& page, const std::vector<int>& ranks, double timeout) {
  const auto culprit = std::min_element(ranks.begin(), ranks.end(), [&](int a, int b) {
    const auto order = [&](int r) { return std::pair(!page.rank(r).stopped, page.rank(r).collectives.load()); };
    return order(a) < order(b);
  });
  std::string what = "has done nothing for " + seconds(timeout) + " (distributed.timeout): it is " +
                     place_in_words(page.rank(*culprit));
  for (const int r : ranks) {
    if (r != *culprit) what += "; nor has rank " + std::to_string(r) + ", " + place_in_words(page.rank(r));
  }
  return {.rank = *culprit, .what = what, .away = ranks};
}

}  // namespace ddp::launch
