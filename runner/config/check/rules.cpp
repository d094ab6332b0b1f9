#include "config/check/rules.h"

#include <algorithm>
#include <map>
#include <set>
#include <vector>

#include "base/paths.h"
#include "config/check/check.h"
#include "config/experiment.h"
#include "config/metric.h"
#include "config/run_part.h"
#include "config/suggest.h"

namespace ddp::config {
namespace {

std::string kind_of_targets(const Node& root, const Components& components) {
  const Node* name = root.at_path("loss.name");
  const Spec* loss = name && name->text() ? components.find("loss", *name->text()) : nullptr;
  return loss ? kind_of_targets(*loss) : "";
}

// Returns the names in `metrics`, or, without the key, the default metric if the targets allow it.
std::vector<std::string> measured_names(const Node& root, const std::string& kind, const Components& components) {
  const Node* list = root.find("metrics");
  std::vector<std::string> names;
  if (!list) {
    const Spec* by_default = components.find("metric", kDefaultMeasure);
    if (!by_default || measures(*by_default, kind)) names.emplace_back(kDefaultMeasure);
    return names;
  }
  for (const Node& item : list->items) {
    const std::string name = item.text().value_or("");  // the check of the list reports an unknown one
    if (find_metric(name, components)) names.push_back(name);
  }
  return names;
}

// Returns the names of the metrics for these targets, each with the prefix: "mae, mse, r2".
std::string that_measure(const std::string& kind, const Components& components, const std::string& prefix,
                         bool matrices) {
  std::string names;
  for (const auto& [name, spec] : components.of("metric")) {
    if (!measures(spec, kind) || (has_matrix(spec) && !matrices)) continue;
    names += (names.empty() ? "" : ", ") + prefix + name + (is_family(spec) ? " with a number for N" : "");
  }
  return names;
}

// Finds the listed metrics that cannot be measured with the loss, if the traits of both are known.
void check_listed(const Node& root, const Components& components, Mistakes& mistakes) {
  const Node* list = root.find("metrics");
  if (!list) return;
  const std::string kind = kind_of_targets(root, components);
  for (const Node& item : list->items) {
    const Spec* metric = item.text() ? find_metric(*item.text(), components) : nullptr;
    if (!metric || measures(*metric, kind)) continue;
    const std::string others = that_measure(kind, components, "", /*matrices=*/true);
    mistakes.add(item.place, in_quotes(*item.text()) + " cannot be measured with this loss",
                 others.empty() ? "give metrics = [] to measure the loss alone" : "measurable metrics: " + others);
  }
}

// Checks that the experiment measures the metric that `metric` names.
void check_measured(const Node& metric, const Node& root, const Components& components, Mistakes& mistakes) {
  const auto why = unmeasured(metric.text().value_or(""), root, components);
  if (why) mistakes.add(metric.place, why->what, why->hint);
}

// Checks that the listed metrics can be measured, and that the metrics of checkpoint and stop are measured.
void check_metrics(const Node& root, const Components& components, Mistakes& mistakes) {
  check_listed(root, components, mistakes);
  for (const char* path : {"checkpoint.metric", "stop.metric"}) {
    if (const Node* metric = root.at_path(path)) check_measured(*metric, root, components, mistakes);
  }
}

// A run's config.toml contains every key: 0 is the default of warmup_steps.
void check_warmup(const Node& root, Mistakes& mistakes) {
  const Node* steps = root.at_path("scheduler.warmup_steps");
  const Node* part = root.at_path("scheduler.warmup");
  if (!steps || !part || steps->scalar == 0) return;
  mistakes.add(before(steps->key, part->key) ? part->key : steps->key, "\"warmup_steps\" and \"warmup\" are both given",
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
void check_milestones(const Node& root, const Experiment& e, Mistakes& mistakes) {
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
      mistakes.add(
          item.place,
          "\"scheduler.milestones\" are not in ascending order: " + shown(item) + " comes after " + shown(*before.item),
          "give the earlier one first");
      return;
    }
    before = {.amount = part->amount, .item = &item};
  }
}

// The lower limit of a schedule that falls from lr.
void check_min_lr(const Node& root, const Experiment& e, Mistakes& mistakes) {
  const Node* given = root.at_path("scheduler.min_lr");
  const Value min_lr = e.scheduler.options.value("min_lr", Value());
  const Value lr = e.optimizer.options.value("lr", Value());
  if (!given || !min_lr.is_number() || !lr.is_number() || min_lr.get<double>() <= lr.get<double>()) return;
  mistakes.add(given->place, "\"scheduler.min_lr\" is " + shown(*given) + ", above the optimizer's lr, " + lr.dump(),
               "give at most " + lr.dump());
}

// Checks that onecycle neither begins nor ends above its peak.
void check_peak(const Node& root, const Experiment& e, Mistakes& mistakes) {
  if (e.scheduler.name != "onecycle") return;
  double divided = 1;
  for (const char* key : {"div_factor", "final_div_factor"}) {
    divided *= e.scheduler.options.value(key, 1.0);
    const Node* given = root.at_path(std::string("scheduler.") + key);
    if (!given || divided >= 1) continue;
    mistakes.add(given->place, in_quotes(std::string("scheduler.") + key) + " " + shown(*given) +
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
void check_metric(const Node& root, const Components& components, Mistakes& mistakes) {
  const Node* metric = root.at_path("scheduler.metric");
  if (!metric || !metric->text() || metric->text()->empty()) return;
  const std::string name = *metric->text();
  const std::vector<std::string> known = metric_names(components);
  if (std::find(known.begin(), known.end(), name) == known.end() && !is_of_family(name, components)) {
    mistakes.add(metric->place, "there is no metric " + in_quotes(name), suggestion(name, known, "metrics"));
  }
  check_measured(*metric, root, components, mistakes);
}

void refuse_epochs(const Node& value, const std::string& why, Mistakes& mistakes) {
  if (counts_epochs(value.scalar)) {
    mistakes.add(value.place, why + ", but " + in_quotes(*value.text()) + " counts them",
                 "give steps, or a share of the steps such as \"5%\"");
  }
  for (const Node& item : value.items) refuse_epochs(item, why, mistakes);
}

// Is the metric train_loss, which is known only at the end of an epoch?
bool needs_epochs(const Node& root, const std::string& path, const Experiment& e) {
  const Node* metric = root.at_path(path);
  return !e.metric_named(metric ? metric->text().value_or("") : "").name.starts_with(kValidationPrefix);
}

// Checks [scheduler] and [stop] together with the other sections.
void check_scheduler(const Node& root, const Experiment& e, Mistakes& mistakes) {
  check_warmup(root, mistakes);
  check_milestones(root, e, mistakes);
  check_min_lr(root, e, mistakes);
  check_peak(root, e, mistakes);
  if (follows_metric(e)) check_metric(root, e.components(), mistakes);
}

// Reports settings that count epochs although the dataset has none, because of `why`.
void check_endless_rules(const Node& root, const Experiment& e, const std::string& why, Mistakes& mistakes) {
  if (const Node* scheduler = root.find("scheduler")) {
    for (const auto* entry : in_file_order(*scheduler)) refuse_epochs(entry->second, why, mistakes);
  }
  constexpr const char* kHint = "follow a metric of validation, with every = \"250 steps\"";
  const Node* scheduler = root.at_path("scheduler.name");
  if (scheduler && follows_metric(e) && needs_epochs(root, "scheduler.metric", e)) {
    mistakes.add(scheduler->place, why + ", and train_loss is known only at the end of an epoch", kHint);
  }
  const Node* patience = root.at_path("stop.patience");
  if (patience && e.stop.patience > 0 && needs_epochs(root, "stop.metric", e)) {
    mistakes.add(patience->place, why + ", and train_loss is known only at the end of an epoch", kHint);
  }
}

// Checks a list of devices, or of groups of devices, and reports the first mistake.
class ShapeCheck {
 public:
  ShapeCheck(const Node& pool, Mistakes& mistakes) : pool_(pool), mistakes_(mistakes) {}

  void list() {
    const Node& pool = pool_;
    if (pool.items.empty()) return mistake(pool, "the list is empty");
    for (const Node& item : pool.items) {
      if (found_) return;
      if ((item.kind == Kind::list) != (pool.items[0].kind == Kind::list)) {
        return mistake(item, "the list mixes devices and groups of devices");
      }
      if (item.kind == Kind::list) {
        group(item, pool.items[0].items.size());
      } else {
        device(item);
      }
    }
  }

 private:
  void group(const Node& devices, std::size_t size) {
    if (devices.items.empty()) return mistake(devices, "the group is empty");
    if (devices.items.size() != size) return mistake(devices, "the groups must have equal sizes");
    for (const Node& item : devices.items) device(item);
  }

  void device(const Node& item) {
    if (found_) return;
    const bool is_cpu = item.text() == "cpu";
    if (!is_cpu && (item.kind != Kind::integer || item.scalar.get<std::int64_t>() < 0)) {
      return mistake(item, "a device is a GPU's index or \"cpu\", not " + shown(item));
    }
    if (!first_) first_ = &item;
    if (is_cpu != (first_->text() == "cpu")) return mistake(item, "the pool mixes CPUs and GPUs");
    if (!is_cpu && !gpus_.insert(item.scalar.get<std::int64_t>()).second) {
      mistake(item, "GPU " + shown(item) + " is named twice");
    }
  }

  void mistake(const Node& node, const std::string& what) {
    found_ = true;
    mistakes_.add(node.place, "\"device_pool\": " + what, kPoolForms);
  }

  const Node& pool_;
  Mistakes& mistakes_;
  bool found_ = false;
  const Node* first_ = nullptr;
  std::set<std::int64_t> gpus_;
};

void check_alternatives(const Node& root, Mistakes& mistakes) {
  for (const auto& [section, first, second] : kAlternatives) {
    const bool at_top = *section == '\0';
    const Node* const table = at_top ? &root : root.find(section);
    const Node* a = table ? table->find(first) : nullptr;
    const Node* b = table ? table->find(second) : nullptr;
    if (!a || !b) continue;
    mistakes.add(before(a->key, b->key) ? b->key : a->key,
                 "\"" + std::string(first) + "\" and \"" + second + "\" are both given" +
                     (at_top ? "" : " in [" + std::string(section) + "]"),
                 "give one of them");
  }
}

void check_clip(const Node& root, Mistakes& mistakes) {
  const Node* clip = root.find("clip");
  if (!clip || !clip->is_table() || !clip->entries.empty()) return;
  mistakes.add(clip->key, "[clip] gives no limit", "give norm = 1.0, or value = 0.5, or leave [clip] out");
}

// The name becomes a folder under the results folder and must not lead outside it.
void check_name(const Node& root, const std::string& name, Mistakes& mistakes) {
  const Node* given = root.find("name");
  if (given && !given->text()) return;
  const bool is_link = name == "latest";
  if (is_safe_name(name) && !is_link) return;
  mistakes.add(
      given ? given->place : root.place,
      in_quotes(name) + " cannot be the name of an experiment" + (given ? "" : ": it is the file's name"),
      (is_link ? std::string("\"latest\" stands for the newest run in every command")
               : "a name consists of up to " + std::to_string(kLongestSafeName) +
                     " ASCII letters, digits, \".\", \"_\" and \"-\", and does not begin with \".\" or \"-\"") +
          (given ? "" : "; give one with --name, or with name = \"…\" in the file"));
}

// Checks a dataset's trait {"needs": "steps"}: a key, or a list of keys, that it requires.
void check_needs(const Node& root, const Component& dataset, const Components& components, Mistakes& mistakes) {
  const Spec* spec = components.find("dataset", dataset.name);
  if (!spec || !spec->traits.contains("needs")) return;
  const Value& needs = spec->traits["needs"];
  for (const Value& key : needs.is_array() ? needs : Value::array({needs})) {
    const auto name = key.get<std::string>();
    if (root.at_path(name)) continue;
    mistakes.add(root.at_path("dataset.name")->place, "dataset \"" + dataset.name + "\" needs \"" + name + "\"",
                 name == "steps" ? "it has no epochs: give steps = …" : "");
  }
}

// Reports the settings that count epochs; the option `given` leaves the dataset without epochs.
void check_counts_of_epochs(const Node& root, const Node& given, const Experiment& experiment, const std::string& why,
                            Mistakes& mistakes) {
  if (!experiment.steps) {
    const Node* epochs = root.find("epochs");
    mistakes.add(epochs ? epochs->place : given.place, why, "give steps = …, without epochs");
  }
  const Node* saved = root.at_path("checkpoint.save_every");
  if (saved && experiment.checkpoint.save_every > 0) {
    mistakes.add(saved->place, why + ", but save_every counts them", "give save_every_steps = …");
  }
  // 1 is the default, which config.toml contains: such a run validates at its end.
  const Node* every = root.at_path("validation.every");
  if (every && experiment.validation.period().epochs > 1) {
    mistakes.add(every->place, why + ", but validation.every counts them", "give every = \"250 steps\"");
  }
}

// Checks a dataset's trait {"endless": {"sampling": "random"}}: with this value of its option it has no epochs. A
// dataset that needs steps never has epochs.
void check_endless(const Node& root, const Experiment& experiment, const Components& components, Mistakes& mistakes) {
  const Component& dataset = experiment.dataset;
  const Spec* spec = components.find("dataset", dataset.name);
  if (!spec) return;
  const Value endless = spec->traits.value("endless", Value::object());
  for (const auto& [option, value] : endless.items()) {
    const Node* given = root.at_path("dataset." + option);
    if (!given || given->scalar != value) continue;
    const std::string why = option + " = " + value.dump() + " has no epochs";
    check_counts_of_epochs(root, *given, experiment, why, mistakes);
    check_endless_rules(root, experiment, why, mistakes);
  }
  if (spec->traits.value("needs", Value()) == "steps") {
    check_endless_rules(root, experiment, "dataset " + in_quotes(dataset.name) + " has no epochs", mistakes);
  }
}

void check_held_out(const Node& root, const std::string& section, const HeldOut& held_out, Mistakes& mistakes) {
  const Node* split = root.at_path(section + ".split");
  const Node* dataset = root.at_path(section + ".dataset");
  const Node* by = root.at_path(section + ".by");
  if (split && dataset && held_out.split > 0) {
    mistakes.add(before(split->key, dataset->key) ? dataset->key : split->key,
                 "\"split\" and \"dataset\" are both given in [" + section + "]",
                 "give one of them: a share of [dataset], or separate data");
  }
  if (by && held_out.stratify && !held_out.by.empty()) {
    mistakes.add(by->key, "\"stratify\" and \"by\" are both given in [" + section + "]",
                 "give one of them: rows that stay together cannot keep the share of each class");
  }
}

// The test takes its share from the samples that the validation leaves, and training needs the rest.
void check_shares(const Node& root, const Experiment& e, Mistakes& mistakes) {
  const Node* validation = root.at_path("validation.split");
  const Node* test = root.at_path("test.split");
  if (!validation || !test || e.validation.split + e.test.split < 1) return;
  mistakes.add(
      before(validation->key, test->key) ? test->key : validation->key,
      "validation.split " + shown(*validation) + " and test.split " + shown(*test) + " leave no sample to train on",
      "their sum must be below 1");
}

void check_period(const Node& root, Mistakes& mistakes) {
  const Node* every = root.at_path("validation.every");
  const auto text = every ? every->text() : std::nullopt;
  if (!text || steps_in(*text)) return;
  mistakes.add(every->place, "\"validation.every\" must be epochs or steps, not " + in_quotes(*text),
               "give a whole number of epochs, or a text such as \"250 steps\", each from 1 to 1000000000");
}

void check_rename(const Node& root, Mistakes& mistakes) {
  const Node* rename = root.at_path("init_from.rename");
  if (!rename || !rename->is_table()) return;
  for (const auto* entry : in_file_order(*rename)) {
    if (entry->second.text()) continue;
    mistakes.add(entry->second.place, "\"init_from.rename\" must map texts to texts, not to " + shown(entry->second),
                 "give a prefix and its replacement, such as { \"module.\" = \"\" }");
  }
}

void check_group(const Node& group, const std::string& path, Mistakes& mistakes) {
  const Node* match = group.find("match");
  if (!match) return;
  if (match->kind == Kind::list && match->items.empty())
    mistakes.add(match->place, "\"" + path + ".match\" is empty", "give patterns of names");
  const auto check_pattern = [&](const Node& one) {
    const auto text = one.text();
    const bool is_meant = text && text->find_first_of("<>=") != std::string::npos;  // no name has these characters
    if (text && (is_condition(*text) || is_meant) && !condition_of(*text)) {
      mistakes.add(one.place, "\"" + path + ".match\" has an invalid condition: " + in_quotes(*text),
                   "give ndim, one of < <= > >= ==, and a number, such as \"ndim<2\"");
    } else if (text && is_condition(*text) && !condition_of(*text)->can_hold()) {
      mistakes.add(one.place, "\"" + path + ".match\" has a condition that never holds: " + in_quotes(*text),
                   "a parameter has 0 dimensions or more: give a condition such as \"ndim<2\"");
    }
  };
  check_pattern(*match);
  for (const Node& one : match->items) check_pattern(one);
}

void check_groups(const Node& root, Mistakes& mistakes) {
  const Node* groups = root.find("groups");
  if (!groups) return;
  for (std::size_t i = 0; i < groups->items.size(); ++i) {
    if (groups->items[i].is_table()) check_group(groups->items[i], "groups[" + std::to_string(i) + "]", mistakes);
  }
}

}  // namespace

bool has_validation(const Node& root) {
  const Node* split = root.at_path("validation.split");
  // The check of the value reports a text or number in place of the section.
  const Node* section = root.find("validation");
  const bool is_meant = section && (section->text() || section->kind == Kind::number);
  return is_meant || (split && split->scalar != 0) || root.at_path("validation.dataset");
}

std::optional<Unmeasured> unmeasured(const std::string& name, const Node& root, const Components& components) {
  if (!name.starts_with(kValidationPrefix)) return {};
  const std::string measure = name.substr(kValidationPrefix.size());
  const Spec* spec = find_metric(measure, components);
  if (spec && has_matrix(*spec)) return {};  // the check of the value has reported it
  if (!has_validation(root)) {
    return Unmeasured{.what = in_quotes(name) + " needs held-out samples",
                      .hint = "give validation.split, such as 0.1"};
  }
  if (!spec) return {};  // val_loss, or an unknown metric, which is reported elsewhere
  const std::string kind = kind_of_targets(root, components);
  if (!measures(*spec, kind)) {
    const std::string others = that_measure(kind, components, kValidationPrefix, /*matrices=*/false);
    return Unmeasured{
        .what = in_quotes(name) + " cannot be measured with this loss",
        .hint = "measurable metrics: " + kValidationPrefix + "loss" + (others.empty() ? "" : ", " + others)};
  }
  const std::vector<std::string> measured = measured_names(root, kind, components);
  if (std::find(measured.begin(), measured.end(), measure) != measured.end()) return {};
  std::string list;
  for (const std::string& other : measured) list += in_quotes(other) + ", ";
  return Unmeasured{.what = in_quotes(name) + " is not measured",
                    .hint = "give metrics = [" + list + in_quotes(measure) + "]"};
}

void check_device_pool(const Node& pool, Mistakes& mistakes) {
  if (pool.kind == Kind::list) return ShapeCheck(pool, mistakes).list();
  const bool is_auto = pool.text() == "auto";
  const bool is_count = pool.kind == Kind::integer && pool.scalar.get<std::int64_t>() >= 1;
  if (is_auto || is_count || (pool.kind != Kind::text && pool.kind != Kind::integer)) return;
  mistakes.add(pool.place, "\"device_pool\" must be \"auto\", a number of ranks or a list, not " + shown(pool),
               kPoolForms);
}

void check_rules(const Node& root, const Experiment& experiment, Mistakes& mistakes) {
  const Components components = experiment.components();
  check_alternatives(root, mistakes);
  check_name(root, experiment.name, mistakes);
  check_needs(root, experiment.dataset, components, mistakes);
  check_endless(root, experiment, components, mistakes);
  check_metrics(root, components, mistakes);
  check_scheduler(root, experiment, mistakes);
  check_held_out(root, "validation", experiment.validation, mistakes);
  check_held_out(root, "test", experiment.test, mistakes);
  check_shares(root, experiment, mistakes);
  check_period(root, mistakes);
  check_rename(root, mistakes);
  check_groups(root, mistakes);
  check_clip(root, mistakes);
  if (const Node* pool = root.find("device_pool")) check_device_pool(*pool, mistakes);
}

}  // namespace ddp::config
