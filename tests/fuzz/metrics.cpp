// metrics.jsonl as a resumed run finds it: rewound, and read for its best epoch; and as a report draws it.
#include <fstream>
#include <iterator>

#include "base/error.h"
#include "record/metrics/event_reader.h"
#include "record/metrics/metrics_log.h"
#include "report/read/history.h"
#include "target.h"

namespace ddp::fuzz {
namespace {

std::string rewound(const std::filesystem::path& file, std::int64_t step, std::int64_t epoch) {
  record::rewind_metrics(file, step, epoch);
  std::ifstream in(file, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), {}};
}

}  // namespace
}  // namespace ddp::fuzz

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace ddp;
  const auto file = fuzz::scratch_file("metrics.jsonl", {reinterpret_cast<const char*>(data), size});
  record::epoch_history(file, {.name = "train_loss"});
  record::epoch_history(file, {.name = "val_accuracy", .direction = config::Direction::greater});
  const report::History history = report::read_history(file, 4);
  const std::string drawn = config::written(history).dump();
  fuzz::require(drawn.size() < 64 << 10, "a report's curves are bounded");
  fuzz::require(report::loss_curve(file, 3).size() <= 3, "a small curve is bounded");
  for (const report::ContinuationPoint& point : report::continuation_points_of(file)) report::in_words(point);
  const std::string once = fuzz::rewound(file, 3, 1);
  fuzz::require(once.size() <= size + 1, "rewinding adds nothing");
  fuzz::require(fuzz::rewound(file, 3, 1) == once, "rewinding twice is rewinding once");
  record::epoch_history(file, {.name = "train_loss"});
  fuzz::require(fuzz::rewound(file, 0, 0).size() <= once.size(), "rewinding further leaves no more");
  return 0;
}
