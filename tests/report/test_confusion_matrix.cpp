#include "catch.h"
#include "report/text/run_page.h"

namespace ddp::report {

TEST_CASE("a confusion matrix has a line for each right class, with its name if the data give one") {
  CHECK(in_lines({{2, 0}, {1, 10}}, {}) ==
        "class  predicted as   0   1\n"
        "0                     2   0\n"
        "1                     1  10");
  CHECK(in_lines({{2, 0}, {1, 10}}, {"no", "yes, with a long remark"}) ==
        "class  predicted as         0   1\n"
        "0 no                        2   0\n"
        "1 yes, with a long remark   1  10");
}

}  // namespace ddp::report
