#include "catch.h"
#include "workspace.h"

namespace ddp::system_test {

TEST_CASE("a component under a name that is taken ends the program at its start, and both files are named") {
  const Workspace w;
  const Outcome run = w.run({"run", DDP_SOURCE "/experiments/basic.toml"}, {{"LD_PRELOAD", DDP_SECOND_COSINE}});
  INFO(run.err);
  CHECK(run.code == 2);
  CHECK(contains(run.err, "error: two files register the scheduler \"cosine\": schedule/closed_forms.cpp:"));
  CHECK(contains(run.err, " and preload/second_cosine.cpp:"));
  CHECK(contains(run.err, "give one of them another name"));
  CHECK(run.out.empty());
}

}  // namespace ddp::system_test
