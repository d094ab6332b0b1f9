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
  const std::int64_t reached = waits.collectives;
  const std::string place =
      std::string(record::to_string(waits.collective.load())) + " in step " + std::to_string(waits.step + 1);
  std::string late;
  int first = -1;
  for (int r = 0; r < page.ranks(); ++r) {
    if (r == waiting || page.rank(r).collectives >= reached) continue;
    if (first < 0) first = r;
    late += (late.empty() ? "" : ", ") + std::to_string(r);
  }
  const std::string patience = seconds(timeout) + " (distributed.timeout)";
  if (first < 0) {
    return {.rank = -1,
            .what = "rank " + std::to_string(waiting) + " waited for " + place + " longer than " + patience +
                    ", though every rank is there: is the network between them whole?"};
  }
  const auto& away = page.rank(first);
  return {.rank = first,
          .what = (late.find(',') == std::string::npos ? "rank " : "ranks ") + late + " stayed away from " + place +
                  " for longer than " + patience + ": rank " + std::to_string(first) + " is after step " +
                  std::to_string(away.step) + ", in " + record::to_string(away.phase) + "; rank " +
                  std::to_string(waiting) + " waited"};
}

}  // namespace ddp::launch
