#pragma once

#include <cstdint>
#include <memory>
#include <optional>

#include "config/experiment.h"
#include "datasets/dataset.h"

namespace ddp::data {

// Samples of a dataset: to train on, or to measure on.
struct Set {
  std::shared_ptr<const datasets::Dataset> dataset = {};  // null: there is no such set
  at::Tensor samples = {};                                // int64 [n]; undefined where samples are drawn
  bool of_training = false;                               // some of what the training's dataset has read

  // The dataset, where its samples can be asked for by index; else null.
  const datasets::MapDataset* map() const { return dynamic_cast<const datasets::MapDataset*>(dataset.get()); }
  // Samples; 0: there are none, or they are drawn without end.
  std::int64_t size() const { return samples.defined() ? samples.size(0) : 0; }
};

// The data of an experiment. Validation and test share the training's dataset, or have one of their own.
struct Sets {
  Set train;
  Set validation;
  Set test;
  config::Value preprocessing = nullptr;  // what was fitted on the training samples; null: nothing
};

// Builds the datasets of an experiment, splits them and fits them. `rank` and `world_size` are the place of this rank.
// `held`: the tensors that hold() returned; empty: the datasets read their files. `preprocessing`: what was fitted
// before; null: it is fitted now. Throws ddp::Error (usage) where a
// dataset refuses its options or files, or where nothing is left to train on or to measure on.
Sets build_sets(const config::Experiment& experiment, int rank, int world_size, const NamedTensors& held = {},
                const config::Value& preprocessing = nullptr);

// Builds one set of all samples of the experiment's [dataset], with what was fitted before, to measure on as the test.
Sets build_whole(const config::Experiment& experiment, int rank, int world_size, const NamedTensors& held,
                 const config::Value& preprocessing);

// Returns the dataset of an experiment as its samples are measured or predicted: its options are those of [dataset],
// but for transforms that validation, or else test, has of its own.
config::Component dataset_to_measure(const config::Experiment& experiment);

// True if a dataset to measure on has other transforms than the training (Context::own_transforms).
bool has_own_transforms(const config::Experiment& experiment, const config::Component& dataset);

// Returns everything that build_sets() needs to build the same sets without reading a file: tensors of the datasets,
// samples, and what was fitted. Throws ddp::Error (usage) where a dataset holds nothing.
NamedTensors hold(const Sets& sets);

// Returns the first samples of a set, at most so many; a dataset that draws its samples draws so many.
datasets::Batch first_samples(const Set& set, std::int64_t most);

// Returns the samples of each set, the sizes that a model may leave to the data, and "warnings", a list of texts.
config::Value facts_of(const Sets& sets);

}  // namespace ddp::data
