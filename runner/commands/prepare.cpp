#include "commands/prepare.h"

#include "base/log.h"

namespace ddp::commands {

Prepared prepare(config::Loaded loaded) {
  Prepared p{.loaded = std::move(loaded), .plan = {}, .library = nullptr, .probe = {}, .workload = {}};
  p.plan = launch::make_plan(p.loaded, launch::visible_gpus());
  p.library = std::make_unique<launch::RankLibrary>(p.plan.uses_gpus());
  p.probe = p.library->probe(p.plan);
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
