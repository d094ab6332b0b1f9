#include "config/length.h"

#include "catch.h"

namespace ddp::config {

TEST_CASE("other ranks that resume inside an epoch begin after all seen samples") {
  const EpochPlace place{.position = 3, .offset = 10, .world_size = 2, .batch_size = 4};
  CHECK(place.seen() == 34);
  const EpochPlace more = place.converted(4, 4);
  CHECK(more.position == 0);
  CHECK(more.offset == 34);
  const EpochPlace smaller = place.converted(2, 2);
  CHECK(smaller.offset == 34);
  // A second takeover before any step loses nothing.
  CHECK(more.converted(1, 8).offset == 34);
}

TEST_CASE("the same ranks resume at their own micro-batch") {
  const EpochPlace place{.position = 3, .offset = 10, .world_size = 2, .batch_size = 4};
  const EpochPlace same = place.converted(2, 4);
  CHECK(same.position == 3);
  CHECK(same.offset == 10);
}

TEST_CASE("a new run takes over no samples") {
  const EpochPlace begun = EpochPlace{.batch_size = 0}.converted(4, 32);
  CHECK(begun.position == 0);
  CHECK(begun.offset == 0);
}

TEST_CASE("the last micro-batch of an epoch may be short") {
  CHECK(micro_batches_of_rank(101, 2, 8, {}) == 7);
  CHECK(micro_batches_of_rank(96, 2, 8, {}) == 6);
  CHECK(micro_batches_of_rank(97, 2, 48, {.drop_last = true}) == 1);
  CHECK(micro_batches_of_rank(97, 2, 48, {.drop_last_batch = true}) == 1);
  CHECK(micro_batches_of_rank(97, 2, 49, {.drop_last_batch = true}) == 1);
  CHECK(micro_batches_of_rank(97, 2, 49, {.drop_last = true, .drop_last_batch = true}) == 0);
}

}  // namespace ddp::config
