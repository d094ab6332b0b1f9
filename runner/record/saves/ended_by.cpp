#include "record/saves/ended_by.h"

#include <algorithm>

#include "record/saves/checkpoint_index.h"

namespace ddp::record {
namespace {

// With another metric or min_delta, patience starts again from zero.
bool patience_has_ended(const config::Experiment& e, const config::Value& stop) {
  const config::Value terms = {{"metric", e.metric_named(e.stop.metric).name}, {"min_delta", e.stop.min_delta}};
  if (e.stop.patience == 0 || !stop.is_object()) return false;
  for (const auto& [key, value] : terms.items()) {
    const auto then = stop.find(key);
    if (then == stop.end() || *then != value) return false;
  }
  const auto waited = stop.find("waited");
  return waited != stop.end() && waited->is_number_integer() && waited->get<std::int64_t>() >= e.stop.patience;
}

}  // namespace

bool still_ended(const config::Experiment& e, const std::string& ended_by, const config::Value& stop, double seconds) {
  if (ended_by.empty()) return false;
  if (ended_by == kPatience || ended_by == kAllSteps) return patience_has_ended(e, stop);
  if (ended_by == kMaxTime) return e.stop.seconds() && seconds >= *e.stop.seconds();
  return true;
}

std::string longer_rule(const config::Experiment& e, const std::string& ended_by, const config::Value& stop,
                        double seconds) {
  const auto beyond = [](std::int64_t limit, std::int64_t done) { return std::max(2 * limit, done + limit); };
  if (ended_by == kPatience) {
    return std::to_string(beyond(e.stop.patience, stop.is_object() ? stop.value("waited", std::int64_t{0}) : 0));
  }
  return std::to_string(beyond(e.stop.seconds().value_or(1), static_cast<std::int64_t>(seconds))) + "s";
}

}  // namespace ddp::record
