#include <cmath>
#include <numbers>
#include <optional>
#include <vector>

#include "schedule/scheduler.h"

namespace ddp::schedule {
namespace {

struct OneCycleOptions {
  std::optional<double> max_lr;
  double pct_start = 0.3;
  double div_factor = 25;
  double final_div_factor = 1e4;
  std::string anneal_strategy = "cos";
  bool three_phase = false;
  void fields(config::Fields& f) {
    f({.name = "max_lr", .doc = "lr at the peak; default: the optimizer's lr", .range = config::above(0)}, max_lr);
    f({.name = "pct_start", .doc = "share of the run before the peak", .range = config::between(0, 1)}, pct_start);
    f({.name = "div_factor", .doc = "lr begins at max_lr / div_factor", .range = config::above(0)}, div_factor);
    f({.name = "final_div_factor",
       .doc = "lr ends at max_lr / div_factor / final_div_factor",
       .range = config::above(0)},
      final_div_factor);
    f({.name = "anneal_strategy", .doc = "shape of the phases", .choices = {"cos", "linear"}}, anneal_strategy);
    f({.name = "three_phase", .doc = "return to the first lr before the final decay"}, three_phase);
  }
};

// A phase of the cycle; its end may be a fractional step.
struct OneCyclePhase {
  double end_step = 0;
  double from = 0;
  double to = 0;
};

std::vector<OneCyclePhase> phases_of(const OneCycleOptions& o, const Horizon& horizon) {
  const double max = o.max_lr.value_or(horizon.lr);
  const double begin = max / o.div_factor;
  const double end = begin / o.final_div_factor;
  const auto steps = static_cast<double>(horizon.steps);
  if (!o.three_phase) return {{o.pct_start * steps - 1, begin, max}, {steps - 1, max, end}};
  return {{o.pct_start * steps - 1, begin, max}, {2 * o.pct_start * steps - 2, max, begin}, {steps - 1, begin, end}};
}

double anneal(const OneCycleOptions& o, const OneCyclePhase& phase, double share) {
  if (o.anneal_strategy == "linear") return (phase.to - phase.from) * share + phase.from;
  return phase.to + (phase.from - phase.to) / 2 * (1 + std::cos(std::numbers::pi * share));
}

// Smith and Topin, Super-Convergence (2018); torch.optim.lr_scheduler.OneCycleLR with cycle_momentum=False.
const bool onecycle_registered = schedulers().add<OneCycleOptions>(
    "onecycle", "up to max_lr, then down to almost 0", [](const OneCycleOptions& o, const Horizon& horizon) {
      return [o, phases = phases_of(o, horizon)](std::int64_t step) {
        const auto now = static_cast<double>(step);
        double begin = 0;
        std::size_t k = 0;
        for (; k + 1 < phases.size() && now > phases[k].end_step; ++k) begin = phases[k].end_step;
        const double length = phases[k].end_step - begin;
        return anneal(o, phases[k], length > 0 ? (now - begin) / length : 1);
      };
    });

}  // namespace
}  // namespace ddp::schedule
