#include "catch.h"
#include "launch/plan/step_samples.h"
#include "words.h"

namespace ddp::launch {

TEST_CASE("ranks that cannot share a step's samples are answered with the nearest numbers that can, and a batch size") {
  CHECK(remedy_for_samples(64, {.ranks = 3}) ==
        "use 2 or 4 ranks; or at an epoch's end, use --set batch_size=21: a step then takes 63 samples");
  CHECK(remedy_for_samples(8, {.ranks = 3, .accumulate = 4}) ==
        "use 2 ranks; or at an epoch's end, use --set batch_size=1: a step then takes 12 samples");
  CHECK(remedy_for_samples(2, {.ranks = 3}) ==
        "use 2 ranks; or at an epoch's end, use --set batch_size=1: a step then takes 3 samples");
  CHECK(remedy_for_samples(7, {.ranks = 2})
            .starts_with("use 1 or 7 ranks; or at an epoch's end, use --set batch_size=4: "));
  CHECK(remedy_for_samples(1, {.ranks = 2}).starts_with("use 1 rank; or at an epoch's end, use --set batch_size=1: "));
}

TEST_CASE("accumulate is proposed only where one of its values divides a step's samples") {
  CHECK(remedy_for_samples(64, {.ranks = 2, .accumulate = 3}) == "set accumulate to 2 or 4");
  CHECK(remedy_for_samples(4, {.ranks = 4, .accumulate = 2}) == "set accumulate to 1");
  // Neither number divides them.
  CHECK(remedy_for_samples(64, {.ranks = 3, .accumulate = 5}) ==
        "at an epoch's end, use --set batch_size=4: a step then takes 60 samples");
}

}  // namespace ddp::launch
