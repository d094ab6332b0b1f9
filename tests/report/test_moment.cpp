#include "report/text/moment.h"

#include "catch.h"
#include "report/text/table.h"

namespace ddp::report {

TEST_CASE("the line of a moment fits any width, and keeps what matters most") {
  Moment m{.epoch = 3,
           .epochs = 10,
           .step = 120,
           .steps = 640,
           .loss = 0.0866,
           .losses = {{1, 3}, {2, 2}, {3, 1}},
           .samples_per_second = 61613,
           .seconds_per_step = 0.0125,
           .waiting_for_data = 0.4,
           .seconds = 65,
           .seconds_left = 12.5};
  CHECK(in_words(m, 199) ==
        "epoch 3/10 | step 120/640 | loss 0.0866 █▅▁ | 61613 samples/s | 12 ms/step | 40 % waiting for data | "
        "1m 05s so far | 12.5 s left");
  CHECK(in_words(m, 79) == "epoch 3/10 | step 120/640 | loss 0.0866 █▅▁ | 61613 samples/s | 12.5 s left");
  for (std::size_t width = 1; width < 200; ++width) CHECK(text_width(in_words(m, width)) <= width);
  CHECK(in_words(m, 30) == "step 120/640 | loss 0.0866");
  m.batches_to_measure = 20;
  m.batches_measured = 7;
  CHECK(in_words(m, 79).find("| validating 7/20 |") != std::string::npos);
  m.loss = std::numeric_limits<double>::infinity();
  CHECK(in_words(m, 79).find("loss not finite") != std::string::npos);
}

}  // namespace ddp::report
