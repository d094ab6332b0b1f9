#include "config/check/metric_rules.h"

#include <algorithm>
#include <vector>

#include "config/check/common_names.h"
#include "config/metric.h"

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
    // A name of other programs counts as the metric that it means; the check of the list reports it.
    const std::string name = item.text().value_or("");
    const std::string meant = find_metric(name, components) ? name : common_component("metric", name);
    if (find_metric(meant, components)) names.push_back(meant);
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
void check_listed(const Node& root, const Components& components, Problems& problems) {
  const Node* list = root.find("metrics");
  if (!list) return;
  const std::string kind = kind_of_targets(root, components);
  for (const Node& item : list->items) {
    const Spec* metric = item.text() ? find_metric(*item.text(), components) : nullptr;
    if (!metric || measures(*metric, kind)) continue;
    const std::string others = that_measure(kind, components, "", /*matrices=*/true);
    problems.add(item.place, in_quotes(*item.text()) + " cannot be measured with this loss",
                 others.empty() ? "give metrics = [] to measure the loss alone" : "measurable metrics: " + others);
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
                      .remedy = "give validation.split, such as 0.1"};
  }
  if (!spec) return {};  // val_loss, or an unknown metric, which is reported elsewhere
  const std::string kind = kind_of_targets(root, components);
  if (!measures(*spec, kind)) {
    const std::string others = that_measure(kind, components, kValidationPrefix, /*matrices=*/false);
    return Unmeasured{
        .what = in_quotes(name) + " cannot be measured with this loss",
        .remedy = "measurable metrics: " + kValidationPrefix + "loss" + (others.empty() ? "" : ", " + others)};
  }
  const std::vector<std::string> measured = measured_names(root, kind, components);
  if (std::find(measured.begin(), measured.end(), measure) != measured.end()) return {};
  std::string list;
  for (const std::string& other : measured) list += in_quotes(other) + ", ";
  return Unmeasured{.what = in_quotes(name) + " is not measured",
                    .remedy = "give metrics = [" + list + in_quotes(measure) + "]"};
}

void check_measured(const Node& metric, const Node& root, const Components& components, Problems& problems) {
  const auto why = unmeasured(metric.text().value_or(""), root, components);
  if (why) problems.add(metric.place, why->what, why->remedy);
}

void check_metrics(const Node& root, const Components& components, Problems& problems) {
  check_listed(root, components, problems);
  for (const char* path : {"checkpoint.metric", "stop.metric"}) {
    if (const Node* metric = root.at_path(path)) check_measured(*metric, root, components, problems);
  }
}

}  // namespace ddp::config
