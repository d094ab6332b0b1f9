#include "commands/prepare.h"

#include <cstdlib>

#include "base/log.h"

namespace ddp::commands {

namespace {

// torchrun and mpirun start one process a rank. Forking ranks in each would train as often as they start it.
void refuse_foreign_launchers() {
  if (std::getenv("RANK") == nullptr || std::getenv("WORLD_SIZE") == nullptr) return;
  throw usage_error("this version starts its ranks itself and cannot be one of torchrun's",
                    "RANK and WORLD_SIZE are set",
                    "call ddp-exp without torchrun: device_pool says how many ranks there are");
}

}  // namespace

Prepared prepare(config::Loaded loaded, launch::Start start) {
  refuse_foreign_launchers();
  Prepared p{.loaded = std::move(loaded),
             .plan = {},
             .start = std::move(start),
             .library = nullptr,
             .probe = {},
             .workload = {}};
  p.plan = launch::make_plan(p.loaded, launch::visible_gpus());
  p.library = std::make_unique<launch::RankLibrary>(p.plan.uses_gpus());
  p.probe = p.library->probe(p.plan, p.start);
  p.workload = launch::workload_of(p.loaded, p.plan, p.probe);
  for (const auto& warning : p.probe.warnings) log::warn(warning);
  return p;
}

void add_sets(CLI::App& verb, std::vector<std::string>& sets) {
  verb.add_option("--set", sets, "key=value instead of the file's, as in TOML; again for more")
      ->take_all()
      ->allow_extra_args(false);
}

}  // namespace ddp::commands
