#include "commands/resumption.h"

#include <algorithm>
#include <map>

#include "base/log.h"
#include "config/difference.h"
#include "launch/training.h"

namespace ddp::commands {
namespace fs = std::filesystem;
namespace {

// The checkpoint that `--from` names; empty: there is none yet, and the run starts over.
fs::path choose_checkpoint(const record::RunDirectory& directory, const std::string& from) {
  const auto newest_first = record::complete_checkpoints(directory.checkpoints());
  if (from == "latest") return record::newest_whole(directory.checkpoints());
  if (from == "best") {
    if (const auto best_first = record::by_metric(newest_first); !best_first.empty()) return best_first.front();
    throw usage_error("no checkpoint has a metric yet", "--from best", "use --from latest, or a step");
  }
  std::string steps;
  for (const auto& folder : newest_first) {
    const std::string step = std::to_string(record::position_of(folder).step);
    if (step == from) return folder;
    steps = step + (steps.empty() ? "" : ", ") + steps;
  }
  throw usage_error("there is no complete checkpoint of step " + from, "--from",
                    "give latest, best, or one of these steps: " + (steps.empty() ? "(none)" : steps));
}

// Inside an epoch, what decides which samples come next must stay: some would be skipped or seen twice.
std::map<std::string, config::Value> order_of(const config::Experiment& e) {
  return {{"dataset", e.dataset.options},
          {"dataset.name", e.dataset.name},
          {"loader.shuffle", e.loader.shuffle},
          {"loader.drop_last", e.loader.drop_last},
          {"loader.sampler_seed", e.loader.sampler_seed},
          {"validation.split", e.validation.split},
          {"validation.seed", e.validation.seed}};
}

void require_same_order(const Prepared& now, const config::Experiment& before, const record::Position& position) {
  constexpr const char* kWhat = "the checkpoint is inside an epoch, whose order of samples this would change";
  constexpr const char* kRemedy = ", or go back to an epoch's end with --from";
  const auto& e = now.plan.experiment;
  const auto old = order_of(before);
  for (const auto& [key, value] : order_of(e)) {
    if (value != old.at(key)) throw now.loaded.error(key, kWhat, "keep it at " + old.at(key).dump() + kRemedy);
  }
  if (*e.batch_size * now.plan.world_size() * e.accumulate == position.global_batch_size) return;
  throw now.loaded.error(
      "batch_size", kWhat,
      "keep the " + std::to_string(position.global_batch_size) + " samples of a step (leave batch_size out)" + kRemedy);
}

bool sets_batch_size(const std::vector<std::string>& sets) {
  return std::any_of(sets.begin(), sets.end(), [](const std::string& set) {
    return set.starts_with("batch_size=") || set.starts_with("global_batch_size=");
  });
}

}  // namespace

ResumePoint find_resume_point(const Resumption& r, const launch::Launch& launch) {
  const auto components = config::Components::installed();
  config::Loaded loaded = config::load(r.directory.config(), r.sets, components);
  const config::Experiment before = config::load(r.directory.config(), {}, components).experiment;
  const fs::path checkpoint = choose_checkpoint(r.directory, r.from);
  ResumePoint point{.prepared = {}, .checkpoint = checkpoint, .position = {}, .changes = {}};
  std::optional<std::int64_t> global_batch_size;
  if (!checkpoint.empty()) {
    point.position = record::position_of(checkpoint);
    if (!sets_batch_size(r.sets)) global_batch_size = point.position.global_batch_size;
  }
  point.prepared = prepare(std::move(loaded), launch, checkpoint, global_batch_size);
  if (point.position.inside_epoch()) require_same_order(point.prepared, before, point.position);
  const launch::Plan& plan = point.prepared.plan;
  point.changes = config::differences(config::write(before), config::write(plan.experiment));
  return point;
}

bool ResumePoint::nothing_to_do() const { return launch::has_done_all(prepared.plan.experiment, position); }

std::string ResumePoint::told_changes() const {
  const auto text = [](const config::Value& value) {
    return value.dump(-1, ' ', false, config::Value::error_handler_t::replace);
  };
  for (const auto& [key, values] : changes.items()) {
    log::info("changed: " + key + " was " + text(values[0]) + ", is " + text(values[1]));
  }
  return text(changes);
}

}  // namespace ddp::commands
