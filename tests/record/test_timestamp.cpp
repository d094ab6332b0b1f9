#include "catch.h"
#include "record/summary.h"

namespace ddp::record {

TEST_CASE("a moment is read back from its text") {
  CHECK(timestamp(0) == "1970-01-01T00:00:00Z");
  CHECK(timestamp(1795295045) == "2026-11-21T21:04:05Z");
  for (const std::time_t moment : {std::time_t{0}, std::time_t{951782400}, std::time_t{4102444799}}) {
    CHECK(read_timestamp(timestamp(moment)) == moment);
  }
}

TEST_CASE("a text that is not a moment is refused") {
  for (const char* text :
       {"", "now", "2026-11-21", "2026-11-21T21:04:05", "2026-11-21T21:04:05+01:00", "2026-02-31T00:00:00Z",
        "2026-13-01T00:00:00Z", "2026-11-21T25:00:00Z", "20a6-11-21T21:04:05Z", "2026-11-21T21:04:05Z "}) {
    INFO(text);
    CHECK_FALSE(read_timestamp(text));
  }
}

}  // namespace ddp::record
