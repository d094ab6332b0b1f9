#include <algorithm>
#include <cmath>
#include <numbers>
#include <vector>

#include "base/error.h"
#include "schedule/scheduler.h"

namespace ddp::schedule {
namespace {

const bool constant_registered =
    schedulers().add<Warmup>("constant", "constant lr", [](const Warmup& o, const Horizon& horizon) {
      return with_warmup(o, horizon, [lr = horizon.lr](auto, auto) { return lr; });
    });

struct LinearOptions : Warmup {
  double end_factor = 0;
  void fields(config::Fields& f) {
    f({.name = "end_factor", .doc = "lr at the end, as a share of lr", .range = config::between(0, 1)}, end_factor);
    Warmup::fields(f);
  }
};

const bool linear_registered = schedulers().add<LinearOptions>(
    "linear", "linear from lr to lr * end_factor", [](const LinearOptions& o, const Horizon& horizon) {
      return with_warmup(o, horizon, [o, lr = horizon.lr](std::int64_t, double progress) {
        return lr * (1 + (o.end_factor - 1) * progress);
      });
    });

struct ExponentialOptions : Warmup {
  double gamma = 0;
  void fields(config::Fields& f) {
    f({.name = "gamma", .doc = "factor of each step", .range = config::above(0), .required = true}, gamma);
    Warmup::fields(f);
  }
};

// torch.optim.lr_scheduler.ExponentialLR.
const bool exponential_registered = schedulers().add<ExponentialOptions>(
    "exponential", "lr times gamma after every step", [](const ExponentialOptions& o, const Horizon& horizon) {
      return with_warmup(o, horizon, [gamma = o.gamma, lr = horizon.lr](std::int64_t since, double) {
        return lr * std::pow(gamma, static_cast<double>(since));
      });
    });

struct CosineOptions : Warmup {
  double min_lr = 0;
  void fields(config::Fields& f) {
    f({.name = "min_lr", .doc = "lr at the end", .aliases = {"eta_min"}, .range = config::at_least(0)}, min_lr);
    Warmup::fields(f);
  }
};

// Loshchilov and Hutter, SGDR (2017), equation 5, without restarts.
const bool cosine_registered = schedulers().add<CosineOptions>(
    "cosine", "half a cosine from lr to min_lr", [](const CosineOptions& o, const Horizon& horizon) {
      return with_warmup(o, horizon, [o, lr = horizon.lr](std::int64_t, double progress) {
        return o.min_lr + (lr - o.min_lr) * (1 + std::cos(std::numbers::pi * progress)) / 2;
      });
    });

struct CosineRestartsOptions : Warmup {
  config::Value period;
  std::int64_t mult = 1;
  double min_lr = 0;
  void fields(config::Fields& f) {
    add_run_part(f, "period", "steps to the first restart, or \"10 epochs\" or \"5%\"", period, /*least=*/1,
                 /*required=*/true);
    f({.name = "mult", .doc = "factor of the period at each restart", .range = config::between(1, 1e6)}, mult);
    f({.name = "min_lr", .doc = "lr before each restart", .aliases = {"eta_min"}, .range = config::at_least(0)},
      min_lr);
    Warmup::fields(f);
  }
};

// Loshchilov and Hutter, SGDR (2017), equation 5; torch.optim.lr_scheduler.CosineAnnealingWarmRestarts.
const bool cosine_restarts_registered = schedulers().add<CosineRestartsOptions>(
    "cosine_restarts", "half a cosine from lr to min_lr, repeated",
    [](const CosineRestartsOptions& o, const Horizon& horizon) {
      const std::int64_t first = steps_of(o.period, horizon, "period");
      return with_warmup(o, horizon, [o, first, lr = horizon.lr](std::int64_t since, double) {
        std::int64_t period = first;
        if (o.mult == 1) since %= period;
        while (since >= period) {
          since -= period;
          period *= o.mult;
        }
        const double progress = static_cast<double>(since) / static_cast<double>(period);
        return o.min_lr + (lr - o.min_lr) * (1 + std::cos(std::numbers::pi * progress)) / 2;
      });
    },
    {{"aliases", config::Value::array({"CosineAnnealingWarmRestarts"})}});

struct PolynomialOptions : Warmup {
  double power = 1;
  double min_lr = 0;
  void fields(config::Fields& f) {
    f({.name = "power", .doc = "power of the remaining share of the run", .range = config::above(0)}, power);
    f({.name = "min_lr", .doc = "lr at the end", .aliases = {"eta_min"}, .range = config::at_least(0)}, min_lr);
    Warmup::fields(f);
  }
};

// torch.optim.lr_scheduler.PolynomialLR over the run after the warm-up, with a final lr.
const bool polynomial_registered = schedulers().add<PolynomialOptions>(
    "polynomial", "a power of the remaining share of the run, from lr to min_lr",
    [](const PolynomialOptions& o, const Horizon& horizon) {
      return with_warmup(o, horizon, [min = o.min_lr, power = o.power, lr = horizon.lr](std::int64_t, double progress) {
        return min + (lr - min) * std::pow(1 - progress, power);
      });
    });

struct StepOptions : Warmup {
  config::Value step_size;
  double gamma = 0.1;
  void fields(config::Fields& f) {
    add_run_part(f, "step_size", "steps from one change to the next, or \"10 epochs\" or \"5%\"", step_size,
                 /*least=*/1,
                 /*required=*/true);
    f({.name = "gamma", .doc = "factor of each change", .range = config::above(0)}, gamma);
    Warmup::fields(f);
  }
};

const bool step_registered = schedulers().add<StepOptions>(
    "step", "lr times gamma after every step_size steps", [](const StepOptions& o, const Horizon& horizon) {
      const std::int64_t size = steps_of(o.step_size, horizon, "step_size");
      return with_warmup(o, horizon, [gamma = o.gamma, size, lr = horizon.lr](std::int64_t since, double) {
        return lr * std::pow(gamma, static_cast<double>(since / size));
      });
    });

struct MultistepOptions : Warmup {
  config::Value milestones = config::Value::array();
  double gamma = 0.1;
  void fields(config::Fields& f) {
    f({.name = "milestones",
       .doc = "steps of the run after which lr changes, ascending; each may be \"10 epochs\" or \"5%\"",
       .range = config::between(1, 1e9),
       .form = config::kPartForm,
       .required = true,
       .types = {config::Type::list}},
      milestones);
    f({.name = "gamma", .doc = "factor of each change", .range = config::above(0)}, gamma);
    Warmup::fields(f);
  }
};

// Milestones count from the start of the run, including the warm-up (torch.optim.lr_scheduler.MultiStepLR).
const bool multistep_registered = schedulers().add<MultistepOptions>(
    "multistep", "lr times gamma after each of the milestones", [](const MultistepOptions& o, const Horizon& horizon) {
      std::vector<std::int64_t> milestones;
      for (const config::Value& one : o.milestones) milestones.push_back(steps_of(one, horizon, "milestones"));
      if (!std::is_sorted(milestones.begin(), milestones.end())) {
        throw usage_error("are not in ascending order in a run of " + std::to_string(horizon.steps) + " steps",
                          "scheduler.milestones", "give the earlier one first");
      }
      const std::int64_t warm = o.steps(horizon);
      return with_warmup(o, horizon, [=, gamma = o.gamma, lr = horizon.lr](std::int64_t since, double) {
        const auto passed = std::upper_bound(milestones.begin(), milestones.end(), since + warm) - milestones.begin();
        return lr * std::pow(gamma, static_cast<double>(passed));
      });
    });

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
