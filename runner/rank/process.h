#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <set>
#include <string>

#include <c10/core/Device.h>

#include "checkpoint/store.h"
#include "data/batches.h"
#include "data/sets.h"
#include "dist/parallel/parallel.h"
#include "dist/process_group.h"
#include "rank/task.h"
#include "train/loss/loss.h"

namespace ddp::rank {

// The device of this rank, or the first one if it has several.
c10::Device first_device(const Task& task);
// Tells whether the ranks' parameters can be in memory that all of them share.
bool shares_memory(const Task& task);

// Sets the threads, device and random generator of this process. Call before any random draw.
void prepare_process(const Task& task);

// Joins this rank's groups; returns none if the experiment trains in one process. Throws ddp::Error (training).
dist::Groups join_groups(const Task& task);

// Runs `body`, which contains collectives. If this rank timed out waiting for others and has no parent that can name
// them, the error names them.
void naming_absent_ranks(const Task& task, const dist::Groups& groups, const std::function<void()>& body);

// Builds the data of a task's experiment, from its held data if any. `whole`: as data::build_whole(). Throws as
// data::build_sets().
data::Sets build_sets(const Task& task, bool whole = false);

// Returns this rank's share of a set to measure on; empty if the set has no dataset.
std::optional<data::EvaluationSet> evaluation_of(const Task& task, const data::Set& set,
                                                 const config::HeldOut& options);

// Throws ddp::Error (usage) if a loss does not take one of the targets of these samples; reads none of their inputs.
// Returns true if it has read the targets of all samples of the dataset.
bool require_targets(const train::CheckTargets& check, const datasets::MapDataset& dataset, const at::Tensor& samples);

// The data of a rank.
struct Data {
  data::Sets sets;
  std::unique_ptr<data::Batches> batches;         // training batches
  std::optional<data::EvaluationSet> validation;  // empty: no such set
  std::optional<data::EvaluationSet> test;
};

// `generators` outlive the data.
Data build_data(const Task& task, model::Generators& generators);

// Builds the model of a task for the ranks of a group. The weights come from the checkpoint `saved`, if not null; else
// from the task's weights file, if any; else they are initialized. `raw`: takes the trained weights, even if the
// checkpoint has their average. Throws ddp::Error if weights do not fit.
std::unique_ptr<dist::Parallel> build_parallel(const Task& task, const dist::Group& group,
                                               const checkpoint::Checkpoint* saved, bool raw);

// Returns the initial weights from the task's file, for an initialized module. Throws ddp::Error (usage) if the file
// cannot be read or does not fit.
NamedTensors given_weights(const Task& task, const torch::nn::Module& module);

// Returns on rank 0 the names of the samples that any rank could not decode and left out; returns an empty set on other
// ranks. Collective if a dataset may leave samples out.
std::set<std::string> left_out_of_all(const Task& task, const data::Sets& sets, const dist::Group& group);

// Returns a message with the number of left-out samples and the first names.
std::string in_words(const std::set<std::string>& left_out);

// Reports the samples that ranks could not decode, at the end of training: prints a warning with their number and the
// first names, and adds all names to `file`, the run's bad_files.txt, which keeps its names from before a resume.
// Collective if a dataset may leave samples out. Throws ddp::Error (training) if the file cannot be written.
void tell_left_out(const Task& task, const std::filesystem::path& file, const data::Sets& sets,
                   const dist::Group& group);

}  // namespace ddp::rank
