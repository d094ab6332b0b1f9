// Loaded with ddp-exp: registers a scheduler under a name that is taken.

#include "schedule/scheduler.h"

namespace ddp::schedule {
namespace {

const bool second_cosine_registered = schedulers().add<Warmup>(
    "cosine", "another one", [](const Warmup&, const Horizon&) { return Scheduler([](std::int64_t) { return 1.0; }); });

}  // namespace
}  // namespace ddp::schedule
