#include "rank/agreement.h"

#include <algorithm>
#include <string>
#include <vector>

#include <nlohmann/json.hpp>

#include "base/error.h"
#include "base/log.h"
#include "config/difference.h"
#include "record/file/input_file.h"
#include "record/run_directory.h"
#include "record/saves/checkpoint_settings.h"
#include "record/saves/data_files.h"

namespace ddp::rank {
namespace {

// The experiment as all ranks must have it. Folders may differ, and only rank 0 reads the initial weights.
config::Value experiment_of_all(const Task& t) {
  config::Value experiment = config::write(record::as_kept(*t.experiment));
  experiment["source_texts"] = record::hashes_of_texts(*t.experiment);
  experiment.erase("init_from");
  return experiment;
}

// A rank's side of the comparison; "ranks_here" explains a difference.
config::Value terms_of(const Task& t, const std::vector<record::DataFile>& files) {
  return {{"experiment", experiment_of_all(t)}, {"data", record::content_samples(files)}, {"ranks_here", t.ranks_here}};
}

std::string hash_of(const config::Value& terms) {
  return record::hash_hex(terms["experiment"].dump() + record::hash_of_samples(terms["data"]));
}

Error other_threads(const std::string& rank, const config::Difference& differs, const config::Value& first,
                    const config::Value& second) {
  return usage_error("LOCAL_WORLD_SIZE is " + second["ranks_here"].dump() + " on " + rank + ", and " +
                         first["ranks_here"].dump() + " on rank 0, so they have different threads: " + differs.second +
                         " and " + differs.first,
                     "",
                     "set LOCAL_WORLD_SIZE to the number of ranks on the machine; if machines have different numbers, "
                     "set threads");
}

void require_same_terms(const std::string& rank, const config::Value& first, const config::Value& second) {
  if (const auto differs = config::first_difference(first["experiment"], second["experiment"])) {
    if (differs->key == "threads" && first["ranks_here"] != second["ranks_here"]) {
      throw other_threads(rank, *differs, first, second);
    }
    throw usage_error(
        rank + "'s experiment is not rank 0's: " + differs->key + " is " + differs->second + ", not " + differs->first,
        "", is_of_paths(*differs) ? config::kSamePathRemedy : "start all ranks with the same file and settings");
  }
  const std::string differs = record::sample_difference(first["data"], second["data"]);
  if (!differs.empty()) throw usage_error(rank + "'s data are not rank 0's: " + differs, "", record::kSameDataRemedy);
}

}  // namespace

void require_same_terms(const Task& t, const std::vector<record::DataFile>& files, const dist::Group& control) {
  if (!control) return;
  const config::Value mine = terms_of(t, files);
  const std::vector<std::string> hashes = dist::all_gather_texts(control, hash_of(mine));
  if (std::equal(hashes.begin() + 1, hashes.end(), hashes.begin())) return;
  const std::vector<std::string> all = dist::all_gather_texts(control, mine.dump());
  const config::Value first = config::Value::parse(all[0]);
  for (std::size_t rank = 1; rank < all.size(); ++rank) {
    require_same_terms("rank " + std::to_string(rank), first, config::Value::parse(all[rank]));
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
