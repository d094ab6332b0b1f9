#include "config/check/rules.h"
#include "config/check/amounts.h"
#include "config/check/metric_rules.h"
#include "config/check/scheduler_rules.h"

#include "base/paths.h"
#include "config/compose/forms.h"
#include "config/groups.h"

namespace ddp::config {
namespace {

void check_alternatives(const Node& root, Problems& problems) {
  for (const auto& [section, first, second] : kAlternatives) {
    const bool at_top = *section == '\0';
    const Node* const table = at_top ? &root : root.find(section);
    const Node* a = table ? table->find(first) : nullptr;
    const Node* b = table ? table->find(second) : nullptr;
    if (!a || !b) continue;
    problems.add(before(a->key, b->key) ? b->key : a->key,
                 "\"" + std::string(first) + "\" and \"" + second + "\" are both given" +
                     (at_top ? "" : " in [" + std::string(section) + "]"),
                 "give one of them");
  }
}

void check_clip(const Node& root, Problems& problems) {
  const Node* clip = root.find("clip");
  if (!clip || !clip->is_table() || !clip->entries.empty()) return;
  problems.add(clip->key, "[clip] gives no limit", "give norm = 1.0, or value = 0.5, or leave [clip] out");
}

// The name becomes a folder under the results folder and must not lead outside it.
void check_name(const Node& root, const std::string& name, Problems& problems) {
  const Node* given = root.find("name");
  if (given && !given->text()) return;
  const bool is_link = name == "latest";
  if (is_safe_name(name) && !is_link) return;
  problems.add(
      given ? given->place : root.place,
      in_quotes(name) + " cannot be the name of an experiment" + (given ? "" : ": it is the file's name"),
      (is_link ? std::string("\"latest\" stands for the newest run in every command")
               : "a name consists of up to " + std::to_string(kLongestSafeName) +
                     " ASCII letters, digits, \".\", \"_\" and \"-\", and does not begin with \".\" or \"-\"") +
          (given ? "" : "; give one with --name, or with name = \"…\" in the file"));
}

// Checks a dataset's trait {"needs": "steps"}: a key, or a list of keys, that it requires.
void check_needs(const Node& root, const Component& dataset, const Components& components, Problems& problems) {
  const Spec* spec = components.find("dataset", dataset.name);
  if (!spec || !spec->traits.contains("needs")) return;
  const Value& needs = spec->traits["needs"];
  for (const Value& key : needs.is_array() ? needs : Value::array({needs})) {
    const auto name = key.get<std::string>();
    if (root.at_path(name)) continue;
    problems.add(root.at_path("dataset.name")->place, "dataset \"" + dataset.name + "\" needs \"" + name + "\"",
                 name == "steps" ? "it has no epochs: give steps = …" : "");
  }
}

// Reports the settings that count epochs; the option `given` leaves the dataset without epochs.
void check_counts_of_epochs(const Node& root, const Node& given, const Experiment& experiment, const std::string& why,
                            Problems& problems) {
  if (!experiment.steps) {
    const Node* epochs = root.find("epochs");
    problems.add(epochs ? epochs->place : given.place, why, "give steps = …, without epochs");
  }
  const Node* saved = root.at_path("checkpoint.save_every");
  if (saved && experiment.checkpoint.save_every > 0) {
    problems.add(saved->place, why + ", but save_every counts them", "give save_every_steps = …");
  }
  // 1 is the default, which config.toml contains: such a run validates at its end.
  const Node* every = root.at_path("validation.every");
  if (every && experiment.validation.period().epochs > 1) {
    problems.add(every->place, why + ", but validation.every counts them", "give every = \"250 steps\"");
  }
}

// Checks a dataset's trait {"endless": {"sampling": "random"}}: with this value of its option it has no epochs. A
// dataset that needs steps never has epochs.
void check_endless(const Node& root, const Experiment& experiment, const Components& components, Problems& problems) {
  const Component& dataset = experiment.dataset;
  const Spec* spec = components.find("dataset", dataset.name);
  if (!spec) return;
  const Value endless = spec->traits.value("endless", Value::object());
  for (const auto& [option, value] : endless.items()) {
    const Node* given = root.at_path("dataset." + option);
    if (!given || given->scalar != value) continue;
    const std::string why = option + " = " + value.dump() + " has no epochs";
    check_counts_of_epochs(root, *given, experiment, why, problems);
    check_endless_rules(root, experiment, why, problems);
  }
  if (spec->traits.value("needs", Value()) == "steps") {
    check_endless_rules(root, experiment, "dataset " + in_quotes(dataset.name) + " has no epochs", problems);
  }
}

void check_held_out(const Node& root, const std::string& section, const HeldOut& held_out, Problems& problems) {
  const Node* split = root.at_path(section + ".split");
  const Node* dataset = root.at_path(section + ".dataset");
  const Node* by = root.at_path(section + ".by");
  if (split && dataset && held_out.split > 0) {
    problems.add(before(split->key, dataset->key) ? dataset->key : split->key,
                 "\"split\" and \"dataset\" are both given in [" + section + "]",
                 "give one of them: a share of [dataset], or separate data");
  }
  if (by && held_out.stratify && !held_out.by.empty()) {
    problems.add(by->key, "\"stratify\" and \"by\" are both given in [" + section + "]",
                 "give one of them: rows that stay together cannot keep the share of each class");
  }
}

// The test takes its share from the samples that the validation leaves, and training needs the rest.
void check_shares(const Node& root, const Experiment& e, Problems& problems) {
  const Node* validation = root.at_path("validation.split");
  const Node* test = root.at_path("test.split");
  if (!validation || !test || e.validation.split + e.test.split < 1) return;
  problems.add(
      before(validation->key, test->key) ? test->key : validation->key,
      "validation.split " + shown(*validation) + " and test.split " + shown(*test) + " leave no sample to train on",
      "their sum must be below 1");
}

void check_period(const Node& root, Problems& problems) {
  const Node* every = root.at_path("validation.every");
  const auto text = every ? every->text() : std::nullopt;
  if (text && !steps_in(*text)) {
    const auto epochs = amount_meant("validation.every", every->scalar);
    problems.add(every->place, "\"validation.every\" must be epochs or steps, not " + in_quotes(*text),
                 epochs ? "a number alone counts epochs: every = " + epochs->value.dump()
                        : "give a whole number of epochs, or a text such as \"250 steps\", each from 1 to 1000000000");
  }
}

void check_rename(const Node& root, Problems& problems) {
  const Node* rename = root.at_path("init_from.rename");
  if (!rename || !rename->is_table()) return;
  for (const auto* entry : in_file_order(*rename)) {
    if (entry->second.text()) continue;
    problems.add(entry->second.place, "\"init_from.rename\" must map texts to texts, not to " + shown(entry->second),
                 "give a prefix and its replacement, such as { \"module.\" = \"\" }");
  }
}

void check_group(const Node& group, const std::string& path, Problems& problems) {
  const Node* match = group.find("match");
  if (!match) return;
  if (match->kind == Kind::list && match->items.empty())
    problems.add(match->place, "\"" + path + ".match\" is empty", "give patterns of names");
  const auto check_pattern = [&](const Node& one) {
    const auto text = one.text();
    const bool is_meant = text && text->find_first_of("<>=") != std::string::npos;  // no name has these characters
    if (text && (is_condition(*text) || is_meant) && !condition_of(*text)) {
      problems.add(one.place, "\"" + path + ".match\" has an invalid condition: " + in_quotes(*text),
                   "give ndim, one of < <= > >= ==, and a number, such as \"ndim<2\"");
    } else if (text && is_condition(*text) && !condition_of(*text)->can_hold()) {
      problems.add(one.place, "\"" + path + ".match\" has a condition that never holds: " + in_quotes(*text),
                   "a parameter has 0 dimensions or more: give a condition such as \"ndim<2\"");
    }
  };
  check_pattern(*match);
  for (const Node& one : match->items) check_pattern(one);
}

void check_groups(const Node& root, Problems& problems) {
  const Node* groups = root.find("groups");
  if (!groups) return;
  for (std::size_t i = 0; i < groups->items.size(); ++i) {
    if (groups->items[i].is_table()) check_group(groups->items[i], "groups[" + std::to_string(i) + "]", problems);
  }
}

}  // namespace

void check_rules(const Node& root, const Experiment& experiment, const Components& components, Problems& problems) {
  check_alternatives(root, problems);
  check_name(root, experiment.name, problems);
  check_needs(root, experiment.dataset, components, problems);
  check_endless(root, experiment, components, problems);
  check_metrics(root, components, problems);
  check_scheduler(root, experiment, components, problems);
  check_held_out(root, "validation", experiment.validation, problems);
  check_held_out(root, "test", experiment.test, problems);
  check_shares(root, experiment, problems);
  check_period(root, problems);
  check_rename(root, problems);
  check_groups(root, problems);
  check_clip(root, problems);
  if (const Node* pool = root.find("device_pool")) check_device_pool(*pool, problems);
}

}  // namespace ddp::config
