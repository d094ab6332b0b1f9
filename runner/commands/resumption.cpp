#include "commands/resumption.h"

#include <algorithm>
#include <map>

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

void require_same_world(const fs::path& checkpoint, const record::Position& position, int world_size) {
  if (position.world_size == world_size) return;
  throw usage_error("was saved by " + std::to_string(position.world_size) + " ranks and cannot go on with " +
                        std::to_string(world_size),
                    checkpoint.string(), "keep the run's device_pool, or start a new run with --init-from");
}

// Inside an epoch, what decides which samples come next must stay: some would be skipped or seen twice.
void require_same_order(const config::Loaded& now, const config::Loaded& before) {
  const auto order = [](const config::Experiment& e) {
    return std::map<std::string, config::Value>{{"batch_size", e.batch_size.value_or(0)},
                                                {"accumulate", e.accumulate},
                                                {"dataset", e.dataset.options},
                                                {"dataset.name", e.dataset.name},
                                                {"loader.shuffle", e.loader.shuffle},
                                                {"loader.drop_last", e.loader.drop_last},
                                                {"loader.sampler_seed", e.loader.sampler_seed},
                                                {"validation.split", e.validation.split},
                                                {"validation.seed", e.validation.seed}};
  };
  const auto old = order(before.experiment);
  for (const auto& [key, value] : order(now.experiment)) {
    if (value == old.at(key)) continue;
    throw now.error(key, "the checkpoint is inside an epoch, whose order of samples this would change",
                    "keep it at " + old.at(key).dump() + ", or go back to an epoch's end with --from");
  }
}

}  // namespace

ResumePoint find_resume_point(const Resumption& r, const launch::Launch& launch) {
  const auto components = config::Components::installed();
  config::Loaded loaded = config::load(r.directory.config(), r.sets, components);
  const fs::path checkpoint = choose_checkpoint(r.directory, r.from);
  record::Position position;
  if (!checkpoint.empty()) {
    position = record::position_of(checkpoint);
    if (position.position > 0) require_same_order(loaded, config::load(r.directory.config(), {}, components));
  }
  Prepared prepared = prepare(std::move(loaded), launch, checkpoint);
  if (!checkpoint.empty()) require_same_world(checkpoint, position, prepared.plan.world_size());
  return {.prepared = std::move(prepared), .checkpoint = checkpoint, .position = position};
}

}  // namespace ddp::commands
