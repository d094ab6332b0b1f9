#include "catch.h"
#include "workspace.h"

namespace ddp::system_test {

TEST_CASE("a component under a name that is taken ends the program at its start, and both files are named") {
  const Workspace w;
  w.refused({"run", DDP_SOURCE "/experiments/basic.toml"},
            {"error: two files register the scheduler \"cosine\": schedule/lr_formulas.cpp:",
             " and preload/second_cosine.cpp:", "give one of them another name"},
            {{"LD_PRELOAD", DDP_SECOND_COSINE}});
}

}  // namespace ddp::system_test
