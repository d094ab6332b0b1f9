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

// How the data of a trained model are read.
struct DataUse {
  config::Value preprocessing = nullptr;  // of the checkpoint; null: it is fitted on the training samples
  bool whole = false;                     // all samples of [dataset] are one set
};

// Names everything that decides which tensors the datasets of a plan hold. "": it cannot be told.
std::string data_key(const Plan& plan);

// The data that a dataset keeps in memory, once for all ranks of this machine. A throw-away child prepares it, so that
// the threads of a reader never start in a process that forks ranks.
class HeldData {
 public:
  HeldData() = default;  // the dataset keeps nothing in memory
  ~HeldData();
  HeldData(HeldData&&) noexcept = default;
  HeldData& operator=(HeldData&&) noexcept = default;

  // For ranks that this process forks: memory without a name, which nobody can change and which goes with the last of
  // them. Throws ddp::Error: (usage) where the dataset refuses, (training) where there is not enough memory.
  static HeldData in_memory(const RankLibrary& library, const Plan& plan, const DataUse& use = {});

  // For ranks that a launcher started one by one: a file in the folder "held" of the cache folder. The first rank of
  // the machine prepares it under a lock; the last one removes it. Where the cache folder cannot be written to, each
  // rank reads the data by itself. Throws ddp::Error as in_memory does.
  static HeldData in_cache(const RankLibrary& library, const Plan& plan);

  // Asks a throw-away child what the data are, for a dataset that holds nothing: it may have to read whole files. The
  // cache keeps the answer until a file changes.
  static HeldData facts_alone(const RankLibrary& library, const Plan& plan);

  // Describes the data (data::facts_of); empty where nobody asked.
  const config::Value& facts() const { return facts_; }
  // The files that the data come from, as they were before they were read (hold_data). Empty where nobody asked.
  const std::vector<record::DataFile>& files() const { return files_; }
  void set_files(std::vector<record::DataFile> files) { files_ = std::move(files); }
  // The file that the ranks map; empty: there is none.
  const std::filesystem::path& file() const { return file_; }
  // The descriptors that have to stay open in each rank.
  std::vector<int> kept() const { return memory_ ? std::vector{memory_.get()} : std::vector<int>{}; }

 private:
  config::Value facts_ = config::Value::object();
  std::vector<record::DataFile> files_;
  std::filesystem::path file_;
  FileDescriptor memory_;
  FileDescriptor lock_;  // of the file in the cache folder: shared while a rank uses it
};

}  // namespace ddp::launch
