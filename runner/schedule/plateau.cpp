#include "schedule/plateau.h"

namespace ddp::schedule {
namespace {

constexpr const char* kPlateau = "plateau";

}  // namespace

void PlateauOptions::fields(config::Fields& f) {
  f({.name = "metric",
     .doc = "the metric that it follows, such as val_loss; default: that of checkpoint",
     .names_kind = "metric"},
    metric);
  f({.name = "factor",
     .doc = "factor of each change",
     .range = {.minimum = 0, .maximum = 1, .minimum_excluded = true, .maximum_excluded = true}},
    factor);
  f({.name = "patience",
     .doc = "validations without an improvement that change nothing",
     .range = config::between(0, 1e9)},
    patience);
  f({.name = "threshold", .doc = "an improvement is more than this", .range = config::at_least(0)}, threshold);
  f({.name = "threshold_mode", .doc = "rel: of the best value; abs: as it is", .choices = {"rel", "abs"}},
    threshold_mode);
  f({.name = "cooldown", .doc = "validations after a change that do not count", .range = config::between(0, 1e9)},
    cooldown);
  f({.name = "min_lr", .doc = "lr is never less, but in a warm-up", .range = config::at_least(0)}, min_lr);
  f({.name = "eps", .doc = "a change of lr by no more is left out", .range = config::at_least(0)}, eps);
  Warmup::fields(f);
}

bool follows_metric(const config::Experiment& e) { return e.scheduler.name == kPlateau; }

PlateauOptions plateau_of(const config::Experiment& e) { return config::read<PlateauOptions>(e.scheduler.options); }

namespace {

// The schedule as long as nothing has been lowered.
const bool plateau_registered = schedulers().add<PlateauOptions>(
    kPlateau, "lr times factor where a metric stops to improve", [](const PlateauOptions& o, const Horizon& horizon) {
      return with_warmup(o, horizon, [lr = horizon.lr](auto, auto) { return lr; });
    });

}  // namespace
}  // namespace ddp::schedule
