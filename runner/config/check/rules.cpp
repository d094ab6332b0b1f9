#include "config/check/rules.h"

#include <algorithm>

#include "base/safe_name.h"
#include "config/compose/forms.h"

namespace ddp::config {
namespace {

void check_alternatives(const Node& root, Problems& problems) {
  for (const auto& [first, second] : kAlternatives) {
    const Node* a = root.find(first);
    const Node* b = root.find(second);
    if (!a || !b) continue;
    problems.add(before(a->key, b->key) ? b->key : a->key,
                 "\"" + std::string(first) + "\" and \"" + second + "\" are both given", "give one of them");
  }
}

// The name becomes a folder under the results root, which it must not leave.
void check_name(const Node& root, const std::string& name, Problems& problems) {
  const Node* given = root.find("name");
  if (given && !given->text()) return;
  if (is_safe_name(name)) return;
  problems.add(given ? given->place : root.place,
               in_quotes(name) + " cannot be the name of an experiment" + (given ? "" : ": it is the file's"),
               "a name is made of letters, digits, \".\", \"_\" and \"-\", and does not begin with \".\"" +
                   std::string(given ? "" : "; give one with name = \"…\""));
}

// A dataset's {"needs": "steps"}: a key, or a list of keys, that it cannot do without.
void check_needs(const Node& root, const Component& dataset, const Components& components, Problems& problems) {
  const Spec* spec = components.find("dataset", dataset.name);
  if (!spec || !spec->traits.contains("needs")) return;
  const Value& needs = spec->traits["needs"];
  for (const Value& key : needs.is_array() ? needs : Value::array({needs})) {
    const auto name = key.get<std::string>();
    if (root.at_path(name)) continue;
    problems.add(root.at_path("dataset.name")->place, "dataset \"" + dataset.name + "\" needs \"" + name + "\"",
                 name == "steps" ? "it has no end, so epochs do not: give steps = …" : "");
  }
}

void check_metric(const Node& root, const Experiment& experiment, Problems& problems) {
  const Node* metric = root.at_path("checkpoint.metric");
  if (!metric || !experiment.checkpoint.metric.starts_with("val_")) return;
  const Node* split = root.at_path("validation.split");
  if (split && split->scalar != 0) return;  // some, or a mistake that the check has told
  problems.add(metric->place, "\"" + experiment.checkpoint.metric + "\" needs samples that are held out",
               "give validation.split, such as 0.1");
}

}  // namespace

void check_rules(const Node& root, const Experiment& experiment, const Components& components, Problems& problems) {
  check_alternatives(root, problems);
  check_name(root, experiment.name, problems);
  check_needs(root, experiment.dataset, components, problems);
  check_metric(root, experiment, problems);
  if (const Node* pool = root.find("device_pool")) check_device_pool(*pool, problems);
}

}  // namespace ddp::config
