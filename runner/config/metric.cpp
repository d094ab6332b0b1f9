#include "config/metric.h"

#include <algorithm>
#include <cctype>
#include <cmath>
#include <stdexcept>

namespace ddp::config {
namespace {

constexpr std::size_t kMostDigits = 9;

// The names of the metric families without their number: "top".
std::vector<std::string> families(const Components& components, const std::string& prefix) {
  std::vector<std::string> names;
  for (const auto& [name, spec] : components.of("metric")) {
    if (is_family(spec)) names.push_back(prefix + name.substr(0, name.size() - 1));
  }
  return names;
}

}  // namespace

bool Metric::is_better(double value, double other) const {
  if (!std::isfinite(value) || std::isnan(other)) return std::isfinite(value);
  return direction == Direction::greater ? value > other : value < other;
}

std::optional<NumberedName> numbered_name(const std::string& name) {
  const std::size_t last_letter = name.find_last_not_of("0123456789");
  if (last_letter == std::string::npos) return {};
  const std::string digits = name.substr(last_letter + 1);
  if (digits.empty() || digits.size() > kMostDigits || digits[0] == '0') return {};
  return NumberedName{.family = name.substr(0, last_letter + 1) + "N", .number = std::stoll(digits)};
}

OutputMetric output_metric(const std::string& name) {
  const std::size_t colon = name.find(':');
  if (colon == std::string::npos) return {.metric = name, .output = {}};
  return {.metric = name.substr(0, colon), .output = name.substr(colon + 1)};
}

bool is_key_of_metrics(const std::string& name) {
  return !name.empty() && std::all_of(name.begin(), name.end(), [](unsigned char c) {
    return std::isalnum(c) != 0 || c == '_' || c == '-' || c == '.' || c == '/';
  });
}

const Spec* find_metric(const std::string& full_name, const Components& components) {
  const std::string name = output_metric(full_name).metric;
  const Spec* spec = components.find("metric", name);
  if (spec) return is_family(*spec) ? nullptr : spec;
  const auto numbered = numbered_name(name);
  const Spec* family = numbered ? components.find("metric", numbered->family) : nullptr;
  return family && is_family(*family) ? family : nullptr;
}

bool is_family(const Spec& metric) { return metric.traits.contains("number"); }

bool has_matrix(const Spec& metric) { return metric.traits.value("matrix", false); }

std::string kind_of_targets(const Spec& loss) {
  const auto outputs = loss.traits.value("outputs", std::string());
  if (outputs == "logits" || outputs == "log_probabilities") return "classes";
  return outputs == "label_logits" ? "labels" : outputs;
}

bool measures(const Spec& metric, const std::string& kind_of_targets) {
  if (kind_of_targets.empty() || !metric.traits.contains("of")) return true;
  const auto kinds = metric.traits["of"].get<std::vector<std::string>>();
  return std::find(kinds.begin(), kinds.end(), kind_of_targets) != kinds.end();
}

std::vector<std::string> metric_names(const Components& components) {
  std::vector<std::string> names{"val_loss"};
  for (const auto& [name, spec] : components.of("metric")) {
    if (!is_family(spec) && !has_matrix(spec)) names.push_back(kValidationPrefix + name);
  }
  names.emplace_back("train_loss");
  return names;
}

Direction direction_of(const std::string& name, const Components& components) {
  if (!name.starts_with(kValidationPrefix)) return Direction::less;
  const Spec* spec = find_metric(name.substr(kValidationPrefix.size()), components);
  return spec == nullptr ? Direction::less : read_written<Direction>(spec->traits.at("direction"));
}

bool has_direction(const std::string& name, const Components& components) {
  if (!name.starts_with(kValidationPrefix)) return true;
  const std::string measure = name.substr(kValidationPrefix.size());
  return measure == "loss" || find_metric(measure, components) != nullptr;
}

Direction direction_for(const std::string& goal, const std::string& name, const Components& components) {
  if (goal.empty()) return direction_of(name, components);
  return goal == "max" ? Direction::greater : Direction::less;
}

Option goal_option(const std::string& doc) { return {.name = "goal", .doc = doc, .choices = {"", "min", "max"}}; }

void supply_names(std::vector<Option>& options, const Components& components, bool gives_scalars) {
  for (Option& option : options) {
    supply_names(option.section, components, gives_scalars);
    if (option.names_kind == "metric") {
      if (gives_scalars) option.open_prefix = kValidationPrefix;
      for (std::string& name : metric_names(components)) option.choices.push_back(std::move(name));
      option.numbered = families(components, kValidationPrefix);
    } else if (option.names_kind == "measure") {
      for (const auto& [name, spec] : components.of("metric")) {
        if (!is_family(spec)) option.choices.push_back(name);
      }
      option.numbered = families(components, "");
    } else if (!option.names_kind.empty()) {
      for (const auto& [name, spec] : components.of(option.names_kind)) option.choices.push_back(name);
    }
  }
}

}  // namespace ddp::config
