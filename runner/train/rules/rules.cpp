#include "train/rules/rules.h"

#include "base/error.h"

namespace ddp::train {

void Rules::restore(const std::map<std::string, config::Value>& saved) {
  for (const auto& [name, rule] : rules_) {
    const auto found = saved.find(name);
    if (found == saved.end()) continue;
    try {
      rule->restore(found->second);
    } catch (const std::exception& error) {
      throw training_error(std::string("is damaged: ") + error.what(), "state.json, rule \"" + name + "\"");
    }
  }
}

std::map<std::string, config::Value> Rules::state() const {
  std::map<std::string, config::Value> numbers;
  for (const auto& [name, rule] : rules_) numbers[name] = rule->state();
  return numbers;
}

}  // namespace ddp::train
