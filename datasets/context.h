#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "config/experiment.h"
#include "config/value.h"
#include "model/named_tensors.h"

namespace ddp::datasets {

class Dataset;

// A dataset trains, or measures during training, or measures once at the end, or gives rows to predict. Augmentation
// belongs to training alone. For a prediction targets need not be in the files, and are not read.
enum class Role { train, validation, test, prediction };

// The facts about a run that a dataset is built with. Paths in its options are absolute already.
struct Context {
  Role role = Role::train;
  // The loss of the run. It decides what targets are: classes (cross_entropy, nll), 0 or 1 (bce_with_logits), numbers.
  std::string loss = {};
  // Targets of this class do not count, and are none of the classes.
  std::int64_t ignored_target = config::kIgnoredByDefault;
  // The result of the fit on the training data (Dataset::preprocessing), which validation, test and prediction use;
  // null: this dataset fits it.
  config::Value preprocessing = nullptr;
  // The shares that a dataset which splits itself (its trait {"splits_itself", true}) holds out: its training part ends
  // before both, its test part lies behind the validation part.
  double validation_share = 0;
  double test_share = 0;
  // The tensors that a dataset of these options and this role keeps in memory (Dataset::held). One process of this
  // machine prepared them; all ranks map them. Empty: the dataset reads its own files.
  NamedTensors held = {};
  // The training dataset of the same options, where this role has another part of what that one has read (a dataset
  // that splits itself). Null: the dataset reads its own files.
  std::shared_ptr<const Dataset> trained = nullptr;
  // The option `transforms` of a set to measure on was given for it. Otherwise the set has the training's, in which
  // random transforms are left out or replaced.
  bool own_transforms = false;
  int rank = 0;
  int world_size = 1;
  std::uint64_t seed = 0;  // of the run: random augmentation and sampling draw from Draws with it
};

}  // namespace ddp::datasets
