#include "rank/agreement.h"

#include <string>
#include <vector>

#include <nlohmann/json.hpp>

#include "base/error.h"
#include "base/log.h"
#include "config/difference.h"
#include "record/kept_sources.h"
#include "record/run_directory.h"
#include "record/saves/model_files.h"

namespace ddp::rank {
namespace {

// The experiment as all ranks must have it. Folders may differ, and only rank 0 reads the initial weights.
config::Value experiment_of_all(const Task& t) {
  config::Value experiment = config::write(record::as_kept(*t.experiment));
  experiment["source_texts"] = record::hashes_of_texts(*t.experiment);
  experiment["content_of"] = record::hashes_of_model(*t.experiment);
  experiment.erase("init_from");
  return experiment;
}

}  // namespace

void require_same_experiment(const Task& t, const dist::Group& control) {
  if (!control) return;
  const std::vector<std::string> all = dist::all_gather_texts(control, experiment_of_all(t).dump());
  const std::vector<std::string> ranks_here = dist::all_gather_texts(control, std::to_string(t.ranks_here));
  for (std::size_t rank = 1; rank < all.size(); ++rank) {
    const auto differs = config::first_difference(config::Value::parse(all[0]), config::Value::parse(all[rank]));
    if (!differs) continue;
    if (differs->key == "threads" && ranks_here[rank] != ranks_here[0]) {
      throw usage_error("LOCAL_WORLD_SIZE is " + ranks_here[rank] + " on rank " + std::to_string(rank) + ", and " +
                            ranks_here[0] + " on rank 0, so they have different threads: " + differs->second + " and " +
                            differs->first,
                        "",
                        "set LOCAL_WORLD_SIZE to the number of ranks on the machine; if machines have different "
                        "numbers, set threads");
    }
    throw usage_error("rank " + std::to_string(rank) + "'s experiment is not rank 0's: " + differs->key + " is " +
                          differs->second + ", not " + differs->first,
                      "", "start all ranks with the same file and settings");
  }
}

std::filesystem::path follow_rank_0(const Task& t, const dist::Group& control) {
  if (!control) return t.resume_from;
  const std::filesystem::path run = dist::broadcast_text(control, t.run_directory.string());
  t.progress->rank(t.rank).begun = true;
  // A rank without a parent writes its own log, if it sees the run's folder.
  const std::filesystem::path log = record::RunDirectory(run).log(t.rank);
  std::error_code unseen;
  const bool logs = !t.watched && t.rank != 0 && std::filesystem::is_directory(log.parent_path(), unseen);
  if (logs) log::also_to(log.string());
  return dist::broadcast_text(control, t.resume_from.string());
}

}  // namespace ddp::rank
