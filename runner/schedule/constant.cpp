#include "schedule/scheduler.h"

namespace ddp::schedule {
namespace {

const bool constant_registered =
    schedulers().add<Warmup>("constant", "constant lr", [](const Warmup& o, const Horizon& horizon) {
      return with_warmup(o, horizon, [lr = horizon.lr](auto, auto) { return lr; });
    });

}  // namespace
}  // namespace ddp::schedule
