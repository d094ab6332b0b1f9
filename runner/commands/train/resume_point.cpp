#include <string>

#include "base/log.h"
#include "commands/train/resumption.h"
#include "config/difference.h"
#include "launch/run/train.h"
#include "record/saves/checkpoint_settings.h"

namespace ddp::commands {
namespace {

// Describes another number of ranks, and the batch that keeps the samples of a step; empty: the number is the same.
std::string rank_change(const ResumePoint& point) {
  const launch::Plan& plan = point.prepared.plan;
  if (point.checkpoint.empty() || point.position.world_size == plan.world_size()) return "";
  const std::int64_t batch = *plan.experiment.batch_size;
  const bool same_step = batch * plan.world_size() * plan.experiment.accumulate == point.position.global_batch_size;
  return "ranks were " + std::to_string(point.position.world_size) + ", now " + std::to_string(plan.world_size()) +
         (same_step ? "; batch_size " + std::to_string(batch) + " keeps " +
                          std::to_string(point.position.global_batch_size) + " samples a step"
                    : "");
}

}  // namespace

bool ResumePoint::nothing_to_do() const { return launch::has_ended(prepared.plan.experiment, position); }

std::string ResumePoint::ended_by_rule() const {
  if (!nothing_to_do() || launch::has_done_all_steps(prepared.plan.experiment, position)) return "";
  return position.ended_by == record::kAllSteps ? record::kPatience : position.ended_by;
}

std::string ResumePoint::weaker_rule() const {
  const std::string rule = ended_by_rule();
  return "--set stop." + rule + "=" +
         record::longer_rule(prepared.plan.experiment, rule, position.stop, position.seconds);
}

std::string ResumePoint::longer_run() const {
  const bool by_steps = prepared.plan.experiment.steps.has_value();
  const std::int64_t done = by_steps ? position.step : position.epoch;
  return std::string("--set ") + (by_steps ? "steps" : "epochs") + "=" + std::to_string(done + 1) + ", or more";
}

void ResumePoint::tell_changes() const {
  if (const std::string ranks = rank_change(*this); !ranks.empty()) log::info("changed: " + ranks);
  for (const auto& [key, values] : changes.items()) {
    log::info("changed: " + config::change_in_words(key, values));
  }
  if (!lr_change.empty()) log::warn(lr_change);
  if (!split_change.empty()) log::warn(split_change);
  if (!best_change.empty()) log::warn(best_change);
}

std::string ResumePoint::changes_as_text() const {
  return changes.dump(-1, ' ', false, config::Value::error_handler_t::replace);
}

}  // namespace ddp::commands
