#include "config/check/scheduler_rules.h"

#include <algorithm>
#include <map>
#include <optional>

#include "config/check/metric_rules.h"
#include "config/check/phrases.h"
#include "config/run_part.h"

namespace ddp::config {
namespace {

// A run's config.toml contains every key: 0 is the default of warmup_steps.
void check_warmup(const Node& root, Problems& problems) {
  const Node* steps = root.at_path("scheduler.warmup_steps");
  const Node* part = root.at_path("scheduler.warmup");
  if (!steps || !part || steps->scalar == 0) return;
  problems.add(before(steps->key, part->key) ? part->key : steps->key, "\"warmup_steps\" and \"warmup\" are both given",
               "give one of them");
}

// Returns a milestone in the unit of its comparison: a share of the run becomes steps if the file gives the steps.
std::optional<RunPart> milestone_of(const Node& item, const Experiment& e) {
  if (item.kind == Kind::integer) return RunPart{.amount = item.scalar.get<double>()};
  const auto part = item.text() ? read_run_part(*item.text()) : std::nullopt;
  if (!part || part->unit != RunPart::Unit::share || !e.steps) return part;
  return RunPart{.amount = static_cast<double>(part->steps_of({.steps = *e.steps}, "scheduler.milestones"))};
}

// Compares milestones of the same unit. launch/plan knows the run's length and compares the other ones.
void check_milestones(const Node& root, const Experiment& e, Problems& problems) {
  const Node* milestones = root.at_path("scheduler.milestones");
  if (e.scheduler.name != "multistep" || !milestones) return;
  struct Passed {
    double amount = 0;
    const Node* item = nullptr;
  };
  std::map<RunPart::Unit, Passed> last;
  for (const Node& item : milestones->items) {
    const auto part = milestone_of(item, e);
    if (!part) continue;
    Passed& before = last[part->unit];
    if (part->amount < before.amount) {
      problems.add(
          item.place,
          "\"scheduler.milestones\" are not in ascending order: " + shown(item) + " comes after " + shown(*before.item),
          "give the earlier one first");
      return;
    }
    before = {.amount = part->amount, .item = &item};
  }
}

// The lower limit of a schedule that falls from lr.
void check_min_lr(const Node& root, const Experiment& e, Problems& problems) {
  const Node* given = root.at_path("scheduler.min_lr");
  const Value min_lr = e.scheduler.options.value("min_lr", Value());
  const Value lr = e.optimizer.options.value("lr", Value());
  if (!given || !min_lr.is_number() || !lr.is_number() || min_lr.get<double>() <= lr.get<double>()) return;
  problems.add(given->place, "\"scheduler.min_lr\" is " + shown(*given) + ", above the optimizer's lr, " + lr.dump(),
               "give at most " + lr.dump());
}

// Checks that onecycle neither begins nor ends above its peak.
void check_peak(const Node& root, const Experiment& e, Problems& problems) {
  if (e.scheduler.name != "onecycle") return;
  double divided = 1;
  for (const char* key : {"div_factor", "final_div_factor"}) {
    divided *= e.scheduler.options.value(key, 1.0);
    const Node* given = root.at_path(std::string("scheduler.") + key);
    if (!given || divided >= 1) continue;
    problems.add(given->place, in_quotes(std::string("scheduler.") + key) + " " + shown(*given) +
                                   " puts lr above the peak of the cycle");
    return;
  }
}

// Other schedulers, such as the user's own, may define the option "metric" differently.
bool follows_metric(const Experiment& e) { return e.scheduler.name == "plateau"; }

// Does the metric belong to a family, such as "val_top5"?
bool is_of_family(const std::string& name, const Components& components) {
  if (!name.starts_with(kValidationPrefix)) return false;
  const Spec* spec = find_metric(name.substr(kValidationPrefix.size()), components);
  return spec && spec->traits.contains("number");
}

// supply_names() does not reach the options of a component, so the metric's name is checked here.
void check_metric(const Node& root, const Components& components, Problems& problems) {
  const Node* metric = root.at_path("scheduler.metric");
  if (!metric || !metric->text() || metric->text()->empty()) return;
  const std::string name = *metric->text();
  const std::vector<std::string> known = metric_names(components);
  if (std::find(known.begin(), known.end(), name) == known.end() && !is_of_family(name, components)) {
    problems.add(metric->place, "there is no metric " + in_quotes(name), suggestion(name, known, "metrics"));
  }
  check_measured(*metric, root, components, problems);
}

void refuse_epochs(const Node& value, const std::string& why, Problems& problems) {
  if (counts_epochs(value.scalar)) {
    problems.add(value.place, why + ", but " + in_quotes(*value.text()) + " counts them",
                 "give steps, or a share of the steps such as \"5%\"");
  }
  for (const Node& item : value.items) refuse_epochs(item, why, problems);
}

// Is the metric train_loss, which is known only at the end of an epoch?
bool needs_epochs(const Node& root, const std::string& path, const Experiment& e) {
  const Node* metric = root.at_path(path);
  return !e.metric_named(metric ? metric->text().value_or("") : "").name.starts_with(kValidationPrefix);
}

}  // namespace

void check_scheduler(const Node& root, const Experiment& e, const Components& components, Problems& problems) {
  check_warmup(root, problems);
  check_milestones(root, e, problems);
  check_min_lr(root, e, problems);
  check_peak(root, e, problems);
  if (follows_metric(e)) check_metric(root, components, problems);
}

void check_endless_rules(const Node& root, const Experiment& e, const std::string& why, Problems& problems) {
  if (const Node* scheduler = root.find("scheduler")) {
    for (const auto* entry : in_file_order(*scheduler)) refuse_epochs(entry->second, why, problems);
  }
  constexpr const char* kRemedy = "follow a metric of validation, with every = \"250 steps\"";
  const Node* scheduler = root.at_path("scheduler.name");
  if (scheduler && follows_metric(e) && needs_epochs(root, "scheduler.metric", e)) {
    problems.add(scheduler->place, why + ", and train_loss is known only at the end of an epoch", kRemedy);
  }
  const Node* patience = root.at_path("stop.patience");
  if (patience && e.stop.patience > 0 && needs_epochs(root, "stop.metric", e)) {
    problems.add(patience->place, why + ", and train_loss is known only at the end of an epoch", kRemedy);
  }
}

}  // namespace ddp::config
