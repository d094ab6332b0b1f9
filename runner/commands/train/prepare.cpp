#include "commands/train/prepare.h"

#include "base/log.h"
#include "launch/plan/ineffective.h"

namespace ddp::commands {
namespace fs = std::filesystem;
Error untrainable(const config::Loaded& loaded, const rank::Probe& probe) {
  const std::string key = probe.where.substr(0, probe.where.find_first_of("[ "));
  const bool is_key = key.find('/') == std::string::npos && loaded.given(key.substr(0, key.find('.')));
  if (!is_key) return usage_error(probe.error, probe.where, probe.remedy);
  return loaded.error(loaded.given(key) ? key : key.substr(0, key.find('.')), probe.error, probe.remedy);
}

Prepared prepare(config::Loaded loaded, const launch::Launch& launch, const fs::path& resume_from,
                 std::optional<std::int64_t> global_batch_size) {
  Prepared p{.loaded = std::move(loaded),
             .plan = {},
             .start = {},
             .library = nullptr,
             .probe = {},
             .workload = {},
             .warnings = {}};
  p.plan = launch::make_plan(p.loaded, launch::visible_gpus(), launch, global_batch_size);
  // Weights and checkpoints are rank 0's to read; its node has them.
  if (launch.leads()) {
    p.start = {.resume_from = resume_from,
               .init_from = resume_from.empty() ? launch::weights_of(p.loaded) : fs::path()};
  }
  p.library = std::make_unique<launch::RankLibrary>(p.plan.uses_gpus());
  p.probe = p.library->probe(p.plan, p.start);
  if (!p.probe.error.empty()) throw untrainable(p.loaded, p.probe);
  p.workload = launch::workload_of(p.loaded, p.plan, p.probe);
  p.warnings = p.probe.warnings;
  const auto ineffective = launch::without_effect(p.loaded, p.plan, p.workload);
  p.warnings.insert(p.warnings.end(), ineffective.begin(), ineffective.end());
  if (launch.leads()) {
    for (const auto& warning : p.warnings) log::warn(warning);
  }
  return p;
}

}  // namespace ddp::commands
