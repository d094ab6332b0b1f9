#include "config/check/rules.h"

#include <algorithm>
#include <map>
#include <set>
#include <vector>

#include "base/paths.h"
#include "config/check/check.h"
#include "config/check/suggest.h"
#include "config/experiment.h"
#include "config/length.h"
#include "config/metric.h"

namespace ddp::config {
namespace {

// Returns the key of two that comes later in the file.
const SourceRange& later(const Node& a, const Node& b) { return before(a.key, b.key) ? b.key : a.key; }

// Reports two keys of a section, "" for the top, if both are given.
void refuse_both(const Node& root, const std::string& section, const std::string& first, const std::string& second,
                 Mistakes& mistakes, const std::string& remedy = "give one of them") {
  const Node* const table = section.empty() ? &root : root.find(section);
  const Node* const a = table ? table->find(first) : nullptr;
  const Node* const b = table ? table->find(second) : nullptr;
  if (!a || !b) return;
  mistakes.add(
      later(*a, *b),
      "\"" + first + "\" and \"" + second + "\" are both given" + (section.empty() ? "" : " in [" + section + "]"),
      remedy);
}

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

// Returns the goal in the section of a metric's key; "": none.
std::string goal_beside(const Node& root, const std::string& path) {
  const Node* goal = root.at_path(path.substr(0, path.find('.')) + ".goal");
  return goal ? goal->text().value_or("") : "";
}

// Checks that the listed metrics can be measured, and that the metrics of checkpoint and stop are measured.
void check_metrics(const Node& root, const Components& components, Mistakes& mistakes) {
  check_listed(root, components, mistakes);
  for (const char* path : {"checkpoint.metric", "stop.metric"}) {
    const Node* metric = root.at_path(path);
    if (metric) {
      check_measured(metric->text().value_or(""), goal_beside(root, path), metric->place, root, components, mistakes);
    }
  }
}

// Returns a milestone in the unit of its comparison: a share of the run becomes steps if the file gives the steps.
std::optional<RunPart> milestone_of(const Node& item, const Experiment& e) {
  if (item.kind == Type::integer) return RunPart{.amount = item.scalar.get<double>()};
  const auto part = item.text() ? read_run_part(*item.text()) : std::nullopt;
  if (!part || part->unit != RunPart::Unit::share || !e.steps) return part;
  return RunPart{.amount = static_cast<double>(part->steps_of({.steps = *e.steps}, "scheduler.milestones"))};
}

// Compares milestones of the same unit. launch/plan knows the run's length and compares the other ones.
void check_milestones(const Node& root, const Experiment& e, Mistakes& mistakes) {
  const Node* milestones = root.at_path("scheduler.milestones");
  if (e.scheduler.name != "multistep" || !milestones) return;
  std::map<RunPart::Unit, double> last;
  for (const Node& item : milestones->items) {
    const auto part = milestone_of(item, e);
    if (!part) continue;
    if (part->amount < last[part->unit]) {
      return mistakes.add(item.place, "\"scheduler.milestones\" are not in ascending order",
                          "give the earlier one first");
    }
    last[part->unit] = part->amount;
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

// supply_names() does not reach the options of a component, so the metric's name is checked here.
void check_metric(const Node& root, const Components& components, Mistakes& mistakes) {
  const Node* metric = root.at_path("scheduler.metric");
  if (!metric || !metric->text() || metric->text()->empty()) return;
  const std::string name = *metric->text();
  const std::vector<std::string> known = metric_names(components);
  const Spec* spec =
      name.starts_with(kValidationPrefix) ? find_metric(name.substr(kValidationPrefix.size()), components) : nullptr;
  const bool is_measure = spec && !has_matrix(*spec);
  const bool is_scalar = name.starts_with(kValidationPrefix) && gives_scalars(root, components);
  if (!is_measure && !is_scalar && std::find(known.begin(), known.end(), name) == known.end()) {
    mistakes.add(metric->place, "there is no metric " + in_quotes(name), suggestion(name, known, "metrics"));
  }
  check_measured(name, goal_beside(root, "scheduler.metric"), metric->place, root, components, mistakes);
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
  // A run's config.toml contains every key: 0 is the default of warmup_steps.
  const Node* warmup_steps = root.at_path("scheduler.warmup_steps");
  if (warmup_steps && warmup_steps->scalar != 0) {
    refuse_both(root, kWarmups.section, kWarmups.first, kWarmups.second, mistakes);
  }
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
  constexpr const char* kRemedy = "follow a metric of validation, with every = \"250 steps\"";
  const Node* scheduler = root.at_path("scheduler.name");
  if (scheduler && follows_metric(e) && needs_epochs(root, "scheduler.metric", e)) {
    mistakes.add(scheduler->place, why + ", and train_loss is known only at the end of an epoch", kRemedy);
  }
  const Node* patience = root.at_path("stop.patience");
  if (patience && e.stop.patience > 0 && needs_epochs(root, "stop.metric", e)) {
    mistakes.add(patience->place, why + ", and train_loss is known only at the end of an epoch", kRemedy);
  }
}

// Checks a list of devices, or of groups of devices, and reports the first mistake.
void check_devices(const Node& pool, Mistakes& mistakes) {
  const auto wrong = [&](const Node& node, const std::string& what) {
    mistakes.add(node.place, "\"device_pool\": " + what, kPoolForms);
  };
  if (pool.items.empty()) return wrong(pool, "the list is empty");
  const Node& first = pool.items.front();
  std::vector<const Node*> devices;
  for (const Node& item : pool.items) {
    if ((item.kind == Type::list) != (first.kind == Type::list)) {
      return wrong(item, "the list mixes devices and groups of devices");
    }
    if (item.kind != Type::list) {
      devices.push_back(&item);
      continue;
    }
    if (item.items.empty()) return wrong(item, "the group is empty");
    if (item.items.size() != first.items.size()) return wrong(item, "the groups must have equal sizes");
    for (const Node& device : item.items) devices.push_back(&device);
  }
  std::set<std::int64_t> gpus;
  for (const Node* device : devices) {
    const bool is_cpu = device->text() == "cpu";
    if (!is_cpu && (device->kind != Type::integer || device->scalar.get<std::int64_t>() < 0)) {
      return wrong(*device, "a device is a GPU's index or \"cpu\", not " + shown(*device));
    }
    if (is_cpu != (devices.front()->text() == "cpu")) return wrong(*device, "the pool mixes CPUs and GPUs");
    if (!is_cpu && !gpus.insert(device->scalar.get<std::int64_t>()).second) {
      return wrong(*device, "GPU " + shown(*device) + " is named twice");
    }
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
  if ((given && !given->text()) || (is_safe_name(name) && name != "latest")) return;
  mistakes.add(given ? given->place : root.place, in_quotes(name) + " cannot be the name of an experiment",
               "give --name, or name = \"…\" in the file: up to " + std::to_string(kLongestSafeName) +
                   " ASCII letters, digits, \".\", \"_\" and \"-\", no \".\" or \"-\" first, and not \"latest\"");
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
  if (held_out.split > 0) {
    refuse_both(root, section, "split", "dataset", mistakes,
                "give one of them: a share of [dataset], or separate data");
  }
  const Node* by = root.at_path(section + ".by");
  if (by && held_out.stratify && !held_out.by.empty()) {
    mistakes.add(by->key, "\"stratify\" and \"by\" are both given in [" + section + "]",
                 "give one of them: rows that stay together cannot keep the share of each class");
  }
}

void check_sample(const Node& root, const Experiment& e, Mistakes& mistakes) {
  const auto weights = e.dataset.options.find("weights");
  if (e.loader.sample != "weighted" || (weights != e.dataset.options.end() && *weights != "")) return;
  mistakes.add(root.at_path("loader.sample")->place,
               "samples are drawn by their weights, and dataset.weights is missing",
               "name the column or the array of weights");
}

// The keys of [validation] that choose rows exclude each other, and [folds].
void check_last(const Node& root, const Validation& validation, Mistakes& mistakes) {
  const Node* order = root.at_path("validation.order");
  if (order && validation.last == 0 && !validation.order.empty()) {
    mistakes.add(order->key, "\"order\" has no effect without \"last\"", "give validation.last, such as 0.2");
  }
  if (validation.last == 0) return;
  for (const char* key : {"split", "stratify", "by", "dataset"}) {
    if (key != std::string("split") || validation.split > 0) {
      refuse_both(root, "validation", "last", key, mistakes, "give one of them: the last rows, or others");
    }
  }
}

// A dataset that splits itself, such as a text, has no rows to choose.
void check_rows(const Node& root, const Experiment& e, const Components& components, Mistakes& mistakes) {
  const Spec* dataset = components.find("dataset", e.dataset.name);
  if (!dataset || !dataset->traits.value("splits_itself", false)) return;
  for (const char* key : {"validation.last", "folds.k"}) {
    const Node* given = root.at_path(key);
    if (given && given->scalar != 0) {
      mistakes.add(given->key, "the dataset \"" + e.dataset.name + "\" has no rows to choose",
                   "hold out its end with validation.split, or other data with validation.dataset");
    }
  }
}

void check_repeat(const Node& root, const Repeat& repeat, Mistakes& mistakes) {
  const Node* seeds = root.at_path("repeat.seeds");
  if (!seeds) return;
  const Value list = repeat.seeds.is_array() ? repeat.seeds : Value::array({repeat.seeds});
  const bool distinct = std::set<Value>(list.begin(), list.end()).size() == list.size();
  const bool good = repeat.seeds.is_array() ? distinct && !list.empty() : repeat.seeds > 0;
  if (!good) mistakes.add(seeds->place, "are no seeds", "give a number of at least 1, or a list of distinct seeds");
}

void check_folds(const Node& root, const Experiment& e, Mistakes& mistakes) {
  const Node* folds = root.find("folds");
  const Node* first = folds && folds->is_table() && !folds->entries.empty() ? &folds->entries.begin()->second : nullptr;
  if (!first) return;
  const Folds& f = e.folds;
  const auto refuse = [&](const std::string& key, const std::string& what, const std::string& remedy) {
    if (const Node* given = root.at_path(key)) mistakes.add(given->key, what, remedy);
  };
  if (!f.on()) return mistakes.add(first->key, "folds.k is missing", "give the number of folds, such as 5");
  for (const char* key : {"validation.split", "validation.last", "validation.dataset"}) {
    const Node* given = root.at_path(key);
    if (given && given->scalar != 0)
      refuse(key, "[folds] hold rows out, and so does " + std::string(key), "leave it out");
  }
  for (const char* key : {"folds.repeats", "folds.stratify", "folds.by"}) {
    if (f.order)
      refuse(key, std::string(key) + " beside folds.order",
             "folds in an order are the same in each repeat: leave it out");
  }
  if (f.by && f.stratify.value_or(false))
    refuse("folds.stratify", "folds.stratify beside folds.by", "give one of them");
  if (f.by && f.repeats.value_or(1) > 1)
    refuse("folds.repeats", "folds.repeats beside folds.by", "folds of groups are the same in each repeat");
  if (f.gap && !f.order) refuse("folds.gap", "folds.gap without folds.order", "name a column of numbers or dates");
  if (!f.fold) {
    mistakes.add(first->key, "the fold of the run is missing",
                 "`ddp-exp cv FILE` trains all folds; --set folds.fold=0 chooses one");
  }
  if (f.fold.value_or(0) >= *f.k)
    refuse("folds.fold", "there are folds 0 to " + std::to_string(*f.k - 1), "choose one of them");
  if (f.repeat.value_or(0) >= f.repeats.value_or(1)) {
    refuse("folds.repeat", "there are repeats 0 to " + std::to_string(f.repeats.value_or(1) - 1), "choose one of them");
  }
}

// The test takes its share from the samples that the validation leaves, and training needs the rest.
void check_shares(const Node& root, const Experiment& e, Mistakes& mistakes) {
  const Node* validation = root.at_path("validation.split");
  const Node* test = root.at_path("test.split");
  if (!validation || !test || e.validation.split + e.test.split < 1) return;
  mistakes.add(
      later(*validation, *test),
      "validation.split " + shown(*validation) + " and test.split " + shown(*test) + " leave no sample to train on",
      "their sum must be below 1");
}

// A loss with the trait {"targets", "optional"} is of a graph, which may compute it from the inputs alone.
void check_targets(const Node& root, const Experiment& e, const Components& components, Mistakes& mistakes) {
  const Spec* loss = components.find("loss", e.loss.name);
  if (!loss || loss->traits.value("targets", "") == "optional") return;
  for (const char* path : {"dataset", "validation.dataset", "test.dataset"}) {
    const Node* dataset = root.at_path(path);
    const Node* name = dataset && dataset->is_table() ? dataset->find("name") : dataset;
    const Spec* spec = name && name->text() ? components.find("dataset", *name->text()) : nullptr;
    const bool has = spec && std::any_of(spec->options.begin(), spec->options.end(), [](const Option& option) {
                       return option.name == "targets" && option.item == Type::text;
                     });
    if (!has || (dataset->is_table() && dataset->find("targets"))) continue;
    mistakes.add(dataset->place, "\"" + std::string(path) + ".targets\" is missing",
                 "the loss " + in_quotes(e.loss.name) + " compares outputs with targets");
  }
}

void check_period(const Node& root, Mistakes& mistakes) {
  const Node* every = root.at_path("validation.every");
  const auto text = every ? every->text() : std::nullopt;
  if (!text || steps_in(*text)) return;
  mistakes.add(every->place, "\"validation.every\" must be epochs or steps, not " + in_quotes(*text),
               "give a whole number of epochs, or a text such as \"250 steps\", each from 1 to 1000000000");
}

void check_split(const Node& root, const Experiment& e, Mistakes& mistakes) {
  const Node* seed = root.at_path("test.seed");
  if (seed && seed->text() && *seed->text() != Test::kSeedOfValidation) {
    mistakes.add(seed->place, "\"test.seed\" must be a number, not " + in_quotes(*seed->text()),
                 "give a whole number from 0, or \"validation\": drawn after validation, with its seed");
  }
  const Node* known = root.at_path("validation.known_rows");
  if (known && !std::is_sorted(e.validation.known_rows.begin(), e.validation.known_rows.end())) {
    mistakes.add(known->place, "\"validation.known_rows\" are not in ascending order",
                 "give the number of rows at each split, the first one first");
  }
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
  if (match->kind == Type::list && match->items.empty())
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

void check_layers(const Node& root, Mistakes& mistakes) {
  constexpr const char* kRemedy =
      "give the beginnings of names, the first layer first, such as [\"patch_embed\", \"blocks.*\", \"head\"]";
  const Node* decay = root.at_path("optimizer.layer_decay");
  const Node* layers = root.at_path("optimizer.layers");
  if (decay && !layers) mistakes.add(decay->key, "\"layer_decay\" needs \"optimizer.layers\"", kRemedy);
  if (layers && !decay) {
    mistakes.add(layers->key, "\"layers\" needs \"optimizer.layer_decay\"", "give it, such as 0.75");
  }
  if (layers && layers->kind == Type::list && layers->items.empty()) {
    mistakes.add(layers->place, "\"optimizer.layers\" is empty", kRemedy);
  }
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
  const bool is_meant = section && (section->text() || section->kind == Type::number);
  const Node* last = root.at_path("validation.last");
  return is_meant || (split && split->scalar != 0) || (last && last->scalar != 0) ||
         root.at_path("validation.dataset") || root.at_path("folds.k");
}

void check_decide(const Node& root, const Experiment& e, Mistakes& mistakes) {
  if (!e.decide.on() || has_validation(root)) return;
  mistakes.add(root.find("decide")->entries.begin()->second.key,
               "[decide] is fitted to a validation, and there is none",
               "hold out samples with validation.split, last or dataset, or with [folds]");
}

bool gives_scalars(const Node& root, const Components& components) {
  const Node* loss = root.find("loss");
  const Node* name = loss && loss->is_table() ? loss->find("name") : loss;
  const Spec* spec = name && name->text() ? components.find("loss", *name->text()) : nullptr;
  return spec && spec->traits.value("targets", "") == "optional";
}

void check_measured(const std::string& name, const std::string& goal, const SourceRange& place, const Node& root,
                    const Components& components, Mistakes& mistakes) {
  if (!name.starts_with(kValidationPrefix)) return;
  const std::string measure = name.substr(kValidationPrefix.size());
  const Spec* spec = find_metric(measure, components);
  if (spec && has_matrix(*spec)) return;  // the check of the value has reported it
  if (!has_validation(root)) {
    return mistakes.add(place, in_quotes(name) + " needs held-out samples", "give validation.split, such as 0.1");
  }
  if (!has_direction(name, components) && gives_scalars(root, components) && goal.empty() &&
      goal_beside(root, "checkpoint.metric").empty()) {
    return mistakes.add(place, in_quotes(name) + " does not say which value is better",
                        "give goal = \"min\" or \"max\" beside it, or in [checkpoint]");
  }
  if (!spec) return;  // val_loss, a scalar of the loss, or an unknown metric, which is reported elsewhere
  const std::string kind = kind_of_targets(root, components);
  if (!measures(*spec, kind)) {
    const std::string others = that_measure(kind, components, kValidationPrefix, /*matrices=*/false);
    return mistakes.add(place, in_quotes(name) + " cannot be measured with this loss",
                        "measurable metrics: " + kValidationPrefix + "loss" + (others.empty() ? "" : ", " + others));
  }
  std::vector<std::string> list = measured_names(root, kind, components);
  if (std::find(list.begin(), list.end(), measure) != list.end()) return;
  // The remedy serves every key that follows a metric.
  for (const char* path : {"checkpoint.metric", "stop.metric", "scheduler.metric"}) {
    const Node* other = root.at_path(path);
    const std::string followed = other ? other->text().value_or("") : "";
    if (!followed.starts_with(kValidationPrefix)) continue;
    const std::string metric = followed.substr(kValidationPrefix.size());
    const Spec* of_other = find_metric(metric, components);
    if (of_other && !has_matrix(*of_other) && measures(*of_other, kind)) list.push_back(metric);
  }
  list.push_back(measure);
  std::string quoted;
  for (auto one = list.begin(); one != list.end(); ++one) {
    if (std::find(list.begin(), one, *one) == one) quoted += (quoted.empty() ? "" : ", ") + in_quotes(*one);
  }
  mistakes.add(place, in_quotes(name) + " is not measured", "give metrics = [" + quoted + "]");
}

void check_device_pool(const Node& pool, Mistakes& mistakes) {
  if (pool.kind == Type::list) return check_devices(pool, mistakes);
  const bool is_auto = pool.text() == "auto";
  const bool is_count = pool.kind == Type::integer && pool.scalar.get<std::int64_t>() >= 1;
  if (is_auto || is_count || (pool.kind != Type::text && pool.kind != Type::integer)) return;
  mistakes.add(pool.place, "\"device_pool\" must be \"auto\", a number of ranks or a list, not " + shown(pool),
               kPoolForms);
}

void check_rules(const Node& root, const Experiment& experiment, Mistakes& mistakes) {
  const Components components = experiment.components();
  for (const auto& [section, first, second] : kAlternatives) refuse_both(root, section, first, second, mistakes);
  check_name(root, experiment.name, mistakes);
  check_needs(root, experiment.dataset, components, mistakes);
  check_endless(root, experiment, components, mistakes);
  check_metrics(root, components, mistakes);
  check_scheduler(root, experiment, mistakes);
  check_held_out(root, "validation", experiment.validation, mistakes);
  check_held_out(root, "test", experiment.test, mistakes);
  check_last(root, experiment.validation, mistakes);
  check_folds(root, experiment, mistakes);
  check_rows(root, experiment, components, mistakes);
  check_repeat(root, experiment.repeat, mistakes);
  check_decide(root, experiment, mistakes);
  check_sample(root, experiment, mistakes);
  check_split(root, experiment, mistakes);
  check_shares(root, experiment, mistakes);
  check_targets(root, experiment, components, mistakes);
  check_period(root, mistakes);
  check_rename(root, mistakes);
  check_groups(root, mistakes);
  check_layers(root, mistakes);
  check_clip(root, mistakes);
  if (const Node* pool = root.find("device_pool")) check_device_pool(*pool, mistakes);
}

}  // namespace ddp::config
