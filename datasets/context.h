#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "config/experiment.h"
#include "config/value.h"
#include "model/named_tensors.h"

namespace ddp::datasets {

class Dataset;

// The use of a dataset: training, evaluation during training (validation), evaluation at the end (test), or prediction.
// Only training augments. A prediction does not read targets, and its files need not have any.
enum class Role { train, validation, test, prediction };

// The facts about a run that a dataset is built with. Paths in the dataset's options are absolute.
struct Context {
  Role role = Role::train;
  // The loss of the run. It decides the kind of the targets: classes (cross_entropy, nll), 0 or 1 (bce_with_logits), or
  // numbers.
  std::string loss = {};
  // The class of targets that do not count; it is not one of the classes.
  std::int64_t ignored_target = config::kIgnoredByDefault;
  // The preprocessing fitted on the training data (Dataset::preprocessing), for validation, test and prediction. Null:
  // this dataset fits it.
  config::Value preprocessing = nullptr;
  // The preprocessing comes from a checkpoint. Options of the dataset do not change it, so no error advises to.
  bool trained_before = false;
  // The shares that a dataset with the trait {"splits_itself", true} holds out. The order is: training part, validation
  // part, test part.
  double validation_share = 0;
  double test_share = 0;
  // The tensors that a dataset with these options and this role keeps in memory (Dataset::held). One process of this
  // node prepared them, and all ranks map them. Empty: the dataset reads its files.
  NamedTensors held = {};
  // The training dataset with the same options, if the dataset splits itself: this role uses another part of the data
  // that the training dataset has read. Null: the dataset reads its files.
  std::shared_ptr<const Dataset> trained = nullptr;
  // The option `transforms` was given for this validation or test set. Otherwise the set uses the training's
  // transforms, without the random ones or with their replacements.
  bool own_transforms = false;
  int rank = 0;
  int world_size = 1;
  std::uint64_t seed = 0;  // the run's seed; the key of Draws for augmentation and sampling
};

}  // namespace ddp::datasets
