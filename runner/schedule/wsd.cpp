#include <algorithm>

#include "schedule/scheduler.h"

namespace ddp::schedule {
namespace {

struct WsdOptions : Warmup {
  config::Value decay = "10%";
  void fields(config::Fields& f) {
    add_run_part(f, "decay", "last steps, in which lr falls to 0: steps, \"10 epochs\" or \"5%\"", decay);
    Warmup::fields(f);
  }
};

// Hu et al., MiniCPM (2024): warm-up, stable, decay. In the last k of T steps, step t has lr * (T - t) / k.
const bool wsd_registered = schedulers().add<WsdOptions>(
    "wsd", "constant lr, then linear to 0 in the last steps", [](const WsdOptions& o, const Horizon& horizon) {
      const std::int64_t decay = steps_of(o.decay, horizon, "decay");
      const std::int64_t warm = o.steps(horizon);
      return with_warmup(o, horizon, [=](std::int64_t since, double) {
        const std::int64_t left = std::clamp<std::int64_t>(horizon.steps - (since + warm), 0, decay);
        return horizon.lr * static_cast<double>(left) / static_cast<double>(decay);
      });
    });

}  // namespace
}  // namespace ddp::schedule
