#include "commands/resume.h"

#include <algorithm>
#include <filesystem>
#include <iostream>
#include <map>
#include <memory>

#include <CLI/CLI.hpp>

#include "base/log.h"
#include "commands/commands.h"
#include "commands/prepare.h"
#include "commands/sets.h"
#include "launch/training.h"
#include "record/atomic_file.h"
#include "record/checkpoint_index.h"
#include "record/metrics_log.h"

namespace ddp::commands {
namespace fs = std::filesystem;
namespace {

// The checkpoint that `--from` names; empty: there is none yet, and the run starts over.
fs::path choose_checkpoint(const record::RunDirectory& directory, const std::string& from) {
  const auto newest_first = record::complete_checkpoints(directory.checkpoints());
  if (from == "latest") return record::latest_checkpoint(directory.checkpoints());
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

int resume_run(const record::RunDirectory& directory, const std::vector<std::string>& sets, const std::string& from) {
  FileDescriptor lock = directory.lock();
  const auto components = config::Components::installed();
  config::Loaded loaded = config::load(directory.config(), sets, components);
  const fs::path checkpoint = choose_checkpoint(directory, from);
  record::Position position;
  if (!checkpoint.empty()) {
    position = record::position_of(checkpoint);
    if (position.position > 0) require_same_order(loaded, config::load(directory.config(), {}, components));
  }
  const Prepared prepared = prepare(std::move(loaded), checkpoint);
  const launch::Training training{.plan = prepared.plan,
                                  .library = *prepared.library,
                                  .directory = directory,
                                  .lock = std::move(lock),
                                  .experiment_folder = fs::current_path(),
                                  .resumed = true,
                                  .start = prepared.start};
  if (!checkpoint.empty()) {
    require_same_world(checkpoint, position, prepared.plan.world_size());
    if (position.step >= prepared.workload.length.steps) {
      log::info("nothing to do: this run has done its " + std::to_string(position.step) +
                " steps; give it more with --set epochs=… or --set steps=…");
      launch::settle(training, position);
      std::cout << directory.path().string() << std::endl;
      return 0;
    }
    // From now on this is the newest: also for a resume after a kill before the first new checkpoint.
    record::link_atomically(directory.checkpoints() / "latest", checkpoint.filename().string());
  }
  record::rewind_metrics(directory.metrics(), position.step, position.epoch);
  const int code = launch::train(training);
  std::cout << directory.path().string() << std::endl;
  return code;
}

void add_resume(CLI::App& app, int& exit_code) {
  struct Options {
    std::string run;
    std::vector<std::string> sets;
    std::string results = "results";
    std::string from = "latest";
  };
  auto o = std::make_shared<Options>();
  CLI::App* verb = app.add_subcommand("resume", "go on with a run");
  verb->add_option("RUN", o->run, "a run directory, name, name/run-id, or latest")->required();
  add_sets(*verb, o->sets);
  verb->add_option("--results", o->results, "the results root")->capture_default_str();
  verb->add_option("--from", o->from, "latest, best, or a step")->capture_default_str();
  verb->callback(
      [o, &exit_code] { exit_code = resume_run(record::RunDirectory::find(o->results, o->run), o->sets, o->from); });
}

}  // namespace ddp::commands
