#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/file_descriptor.h"
#include "config/data_description.h"
#include "config/load/load.h"
#include "config/option/value.h"
#include "launch/library/rank_library.h"
#include "launch/plan/plan.h"
#include "record/saves/data_files.h"

namespace ddp::launch {

// How a trained model's data are read.
struct DataUse {
  config::Value preprocessing = nullptr;  // of the checkpoint; null: fitted on the training samples
  std::optional<config::Rows> rows = {};  // as the checkpoint has them, of the same sets; nothing: read them
  bool whole = false;                     // all samples of [dataset] form one set
};

// The data that a dataset keeps in memory, one copy for all ranks of this machine. A throw-away child prepares them:
// the threads of a reader must never start in a process that forks ranks.
class HeldData {
 public:
  HeldData() = default;  // the dataset keeps nothing in memory
  ~HeldData();
  HeldData(HeldData&&) noexcept = default;
  HeldData& operator=(HeldData&&) noexcept = default;

  // For ranks that this process forks: sealed memory without a name, which is freed when the last rank ends. Throws
  // ddp::Error: (usage) if the dataset refuses, (training) if memory is not sufficient.
  static HeldData in_memory(const RankLibrary& library, const Plan& plan, const DataUse& use = {});

  // The description of the data (data::facts_of); empty if nobody asked for it.
  const config::Value& facts() const { return facts_; }
  // The files of the data, in their state before they were read (hold_data). Empty if nobody asked for them.
  const std::vector<record::DataFile>& files() const { return files_; }
  // The file that the ranks map; empty: none.
  const std::filesystem::path& file() const { return file_; }
  // The descriptors that must stay open in each rank.
  std::vector<int> kept() const { return memory_ ? std::vector{memory_.get()} : std::vector<int>{}; }

 private:
  friend HeldData hold_data(const RankLibrary&, const config::Loaded&, Plan&, const DataUse&);
  friend config::Rows rows_of_data(const RankLibrary&, const Plan&, const HeldData&);

  // For ranks that a launcher started one by one: a file in the folder "held" of the cache folder. The first rank of
  // the machine prepares it under a lock; the last one removes it. If the cache folder is not writable, each rank reads
  // the data itself.
  static HeldData in_cache(const RankLibrary& library, const Plan& plan);
  // Asks a throw-away child for the facts of a dataset that holds nothing: it may have to read whole files. The cache
  // keeps the answer until a file changes.
  static HeldData facts_alone(const RankLibrary& library, const Plan& plan);

  config::Value facts_ = config::Value::object();
  std::vector<record::DataFile> files_;
  std::filesystem::path file_;
  FileDescriptor memory_;
  FileDescriptor lock_;  // of the file in the cache folder: shared while a rank uses it
};

// Prepares the data that a plan keeps in memory, and fills in the model sizes that the experiment file leaves to the
// data. One rank of a launcher reads the data as `use` does by default. Throws ddp::Error (usage) if the data are
// refused or do not fit the model.
HeldData hold_data(const RankLibrary& library, const config::Loaded& loaded, Plan& plan, const DataUse& use = {});

// Returns the description of the rows of a plan's data (data::Sets::rows): the data have it, or a throw-away child
// reads them.
config::Rows rows_of_data(const RankLibrary& library, const Plan& plan, const HeldData& data);

// Fills in those sizes from data that have been prepared.
void fill_sizes(const HeldData& data, const config::Loaded& loaded, Plan& plan);

// The data that several trials of a sweep train on, prepared once. The shelf keeps the data of one plan only; trials of
// other plans prepare their own. Memory therefore holds at most one copy for each running trial, plus one.
class DataShelf {
 public:
  // Announces a trial of this plan: data that several trials share are worth keeping.
  void expect(const Plan& plan);
  // Returns whether the shelf would keep the data of this plan and has none yet.
  bool wants(const Plan& plan) const;

  // Returns the data of a plan, kept or newly prepared, and fills in sizes. Throws as hold_data does.
  std::shared_ptr<const HeldData> hold(const RankLibrary& library, const config::Loaded& loaded, Plan& plan) const;
  // Keeps the result of hold() for this plan if wants() says so.
  void keep(const Plan& plan, std::shared_ptr<const HeldData> data);

  // The descriptors that must stay open in a process that trains a trial.
  std::vector<int> descriptors() const;

 private:
  std::map<std::string, int> expected_;  // by data_key
  std::string key_;                      // of `kept_`
  std::shared_ptr<const HeldData> kept_;
};

// Returns a description of a plan's data (data::describe), from a throw-away child or from the cache of an earlier
// call.
config::DataDescription describe_data(const RankLibrary& library, const Plan& plan, const HeldData& data);

// Asks a throw-away child for the parts of a report about the data (data::preview). Tables are read again.
config::Value preview_data(const RankLibrary& library, const Plan& plan, const HeldData& data);

// Asks a throw-away child for the set of each row (data::sets_of_rows).
std::string sets_of_rows(const RankLibrary& library, const Plan& plan, const HeldData& data);

// Asks a throw-away child for the random draws of the first training samples in epoch 0: {"epoch", "samples"}. Throws
// ddp::Error (usage) if the dataset draws nothing for a sample.
config::Value draws_of_data(const RankLibrary& library, const Plan& plan, const HeldData& data, std::int64_t samples);

}  // namespace ddp::launch
