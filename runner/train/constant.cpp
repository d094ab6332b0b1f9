#include "train/scheduler.h"

namespace ddp::train {
namespace {

const bool registered =
    schedulers().add<Warmup>("constant", "the same lr in every step", [](const Warmup& o, const Horizon& horizon) {
      return with_warmup(o, horizon, [lr = horizon.lr](auto, auto) { return lr; });
    });

}  // namespace
}  // namespace ddp::train
