#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "config/data_description.h"
#include "config/experiment.h"
#include "datasets/dataset.h"
#include "format/object_store.h"

namespace ddp::data {

// Samples of a dataset, for training or for evaluation.
struct Set {
  std::shared_ptr<const datasets::Dataset> dataset = {};  // null: the set does not exist
  at::Tensor samples = {};                                // int64 [n]; undefined if samples are generated
  bool of_training = false;                               // samples that the training dataset has read

  // Returns the dataset if its samples have an index; else null.
  const datasets::MapDataset* map() const { return dynamic_cast<const datasets::MapDataset*>(dataset.get()); }
  // Returns the number of samples; 0: no samples, or unlimited samples.
  std::int64_t size() const { return samples.defined() ? samples.size(0) : 0; }
};

// The data of an experiment. Validation and test share the training dataset or have their own.
struct Sets {
  Set train;
  Set validation;
  Set test;
  config::Rows rows = {};                  // of [dataset], and those that are measured
  config::Value preprocessing = nullptr;   // the preprocessing fitted on the training samples; null: none
  std::vector<std::string> warnings = {};  // about the split, a line each
  std::shared_ptr<format::ObjectCache> cache = {};  // of streams of URLs; null: nothing is one

  // The sets by their names; some may not exist.
  std::array<std::pair<const char*, const Set*>, 3> by_name() const {
    return {{{"train", &train}, {"validation", &validation}, {"test", &test}}};
  }
  // Tells whether the samples of a set are samples of the training dataset.
  bool shares(const Set& set) const { return &set == &train || set.of_training; }
};

// Builds the datasets of an experiment, splits them and fits the preprocessing. `rank`, `world_size`: the place of this
// rank. `held`: the tensors that hold() returned; empty: datasets read their files. `preprocessing`: fitted before;
// null: fit it now. `rows`: as build_sets() noted them of the same sets; nothing: read them. Throws ddp::Error (usage)
// if a dataset rejects its options or files, or if no samples remain for training or evaluation.
Sets build_sets(const config::Experiment& experiment, int rank, int world_size, const NamedTensors& held = {},
                const config::Value& preprocessing = nullptr, const std::optional<config::Rows>& rows = {});

// Builds a test set of all samples of the experiment's [dataset], with the preprocessing that was fitted before.
Sets build_whole(const config::Experiment& experiment, int rank, int world_size, const NamedTensors& held,
                 const config::Value& preprocessing);

// Returns the dataset of an experiment for evaluation or prediction: [dataset], but with the transforms of validation,
// or else of test, if these have their own.
config::Component dataset_to_measure(const config::Experiment& experiment);

// Tells whether a dataset for evaluation has other transforms than training (Context::own_transforms).
bool has_own_transforms(const config::Experiment& experiment, const config::Component& dataset);

// Returns all that build_sets() needs to build the same sets without reading files: tensors of the datasets, samples,
// and the preprocessing.
NamedTensors hold(const Sets& sets);

// Returns the number of samples of the training dataset that are in a set.
std::int64_t samples_shared(const Sets& sets);

// Returns at most the first `most` samples of a set. A dataset that generates samples generates `most` samples.
datasets::Batch first_samples(const Set& set, std::int64_t most);

// Returns the number of samples of each set, the sizes that a model may take from the data, and "warnings", a list of
// texts; with_classes: also "class_counts" of the training samples, if each has a class.
config::Value facts_of(const Sets& sets, bool with_classes = false);

}  // namespace ddp::data
