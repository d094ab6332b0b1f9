#include "config/metric.h"

#include <cmath>
#include <stdexcept>

namespace ddp::config {
namespace {

const std::string kOfValidation = "val_";

}  // namespace

const char* to_string(Direction direction) { return direction == Direction::greater ? "greater" : "less"; }

Direction read_direction(const std::string& text) {
  for (const Direction direction : {Direction::less, Direction::greater}) {
    if (text == to_string(direction)) return direction;
  }
  throw std::runtime_error("a metric's direction is less or greater");
}

bool Metric::is_better(double value, double other) const {
  if (!std::isfinite(value) || std::isnan(other)) return std::isfinite(value);
  return direction == Direction::greater ? value > other : value < other;
}

std::vector<std::string> metric_names(const Components& components) {
  std::vector<std::string> names{"val_loss"};
  for (const auto& [name, spec] : components.of("metric")) names.push_back(kOfValidation + name);
  names.emplace_back("train_loss");
  return names;
}

Direction direction_of(const std::string& name, const Components& components) {
  if (!name.starts_with(kOfValidation)) return Direction::less;
  const Spec* spec = components.find("metric", name.substr(kOfValidation.size()));
  return spec == nullptr ? Direction::less : read_direction(spec->traits.at("direction").get<std::string>());
}

void supply_names(std::vector<Option>& options, const Components& components) {
  for (Option& option : options) {
    supply_names(option.section, components);
    if (option.names_kind == "metric") {
      for (std::string& name : metric_names(components)) option.choices.push_back(std::move(name));
    } else if (!option.names_kind.empty()) {
      for (const auto& [name, spec] : components.of(option.names_kind)) option.choices.push_back(name);
    }
  }
}

}  // namespace ddp::config
