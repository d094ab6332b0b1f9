#pragma once

#include <filesystem>
#include <string>
#include <utility>
#include <vector>

#include "base/file_descriptor.h"
#include "launch/library/rank_library.h"
#include "launch/plan/plan.h"
#include "record/saves/data_files.h"

namespace ddp::launch {

// How a trained model's data are read.
struct DataUse {
  config::Value preprocessing = nullptr;  // of the checkpoint; null: fitted on the training samples
  bool whole = false;                     // all samples of [dataset] form one set
};

// A key of everything that decides which tensors a plan's datasets hold. "": it cannot be computed.
std::string data_key(const Plan& plan);

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

  // For ranks that a launcher started one by one: a file in the folder "held" of the cache folder. The first rank of
  // the machine prepares it under a lock; the last one removes it. If the cache folder is not writable, each rank reads
  // the data itself. Throws ddp::Error as in_memory does.
  static HeldData in_cache(const RankLibrary& library, const Plan& plan);

  // Asks a throw-away child for the facts of a dataset that holds nothing: it may have to read whole files. The cache
  // keeps the answer until a file changes.
  static HeldData facts_alone(const RankLibrary& library, const Plan& plan);

  // The description of the data (data::facts_of); empty if nobody asked for it.
  const config::Value& facts() const { return facts_; }
  // The files of the data, in their state before they were read (hold_data). Empty if nobody asked for them.
  const std::vector<record::DataFile>& files() const { return files_; }
  void set_files(std::vector<record::DataFile> files) { files_ = std::move(files); }
  // The file that the ranks map; empty: none.
  const std::filesystem::path& file() const { return file_; }
  // The descriptors that must stay open in each rank.
  std::vector<int> kept() const { return memory_ ? std::vector{memory_.get()} : std::vector<int>{}; }

 private:
  config::Value facts_ = config::Value::object();
  std::vector<record::DataFile> files_;
  std::filesystem::path file_;
  FileDescriptor memory_;
  FileDescriptor lock_;  // of the file in the cache folder: shared while a rank uses it
};

}  // namespace ddp::launch
