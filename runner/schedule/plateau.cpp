#include "schedule/plateau.h"

namespace ddp::schedule {
namespace {

constexpr const char* kPlateau = "plateau";

}  // namespace

void PlateauOptions::fields(config::Fields& f) {
  f({.name = "metric",
     .doc = "metric to follow, such as val_loss; default: the metric of [checkpoint]",
     .names_kind = "metric"},
    metric);
  f(config::goal_option("goal of the metric; default: its own direction, or else checkpoint.goal"), goal);
  f({.name = "factor",
     .doc = "factor of each change of lr",
     .range = {.minimum = 0, .maximum = 1, .minimum_excluded = true, .maximum_excluded = true}},
    factor);
  f({.name = "patience",
     .doc = "validations without improvement before lr is lowered",
     .range = config::between(0, 1e9)},
    patience);
  f({.name = "threshold", .doc = "minimum size of an improvement", .range = config::at_least(0)}, threshold);
  f({.name = "threshold_mode", .doc = "threshold relative to the best value, or absolute", .choices = {"rel", "abs"}},
    threshold_mode);
  f({.name = "cooldown", .doc = "validations after a change that do not count", .range = config::between(0, 1e9)},
    cooldown);
  f({.name = "min_lr",
     .doc = "lower limit of lr, except during warm-up",
     .aliases = {"eta_min"},
     .range = config::at_least(0)},
    min_lr);
  f({.name = "eps", .doc = "changes of lr up to this size are skipped", .range = config::at_least(0)}, eps);
  Warmup::fields(f);
}

bool follows_metric(const config::Experiment& e) { return e.scheduler.name == kPlateau; }

PlateauOptions plateau_of(const config::Experiment& e) { return config::read<PlateauOptions>(e.scheduler.options); }

namespace {

// The schedule while lr has not been lowered.
const bool plateau_registered =
    schedulers().add<PlateauOptions>(kPlateau, "lr times factor when a metric stops improving",
                                     [](const PlateauOptions& o, const Horizon& horizon) {
                                       return with_warmup(o, horizon, [lr = horizon.lr](auto, auto) { return lr; });
                                     },
                                     {{"aliases", {"ReduceLROnPlateau", "reduce_on_plateau"}}});

}  // namespace
}  // namespace ddp::schedule
