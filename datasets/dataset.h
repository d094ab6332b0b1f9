#pragma once

#include <cstdint>
#include <functional>
#include <limits>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include <ATen/core/Tensor.h>

#include "config/data_description.h"
#include "config/experiment.h"
#include "config/option/value.h"
#include "config/registry.h"
#include "datasets/draws.h"
#include "format/bytes.h"
#include "model/named_tensors.h"

namespace ddp::datasets {

// Samples and their targets. Every tensor has one row per sample.
struct Batch {
  NamedTensors inputs;   // [n, …] each, in the order of the model's inputs
  NamedTensors targets;  // [n, …] each, or class indices [n] (int64)
  at::Tensor weights;    // float32 [n]: of each sample in the loss; undefined: all weigh the same

  Batch() = default;
  // One input, named "input", and one target, named "target".
  Batch(at::Tensor input, at::Tensor target) {
    inputs.emplace_back("input", std::move(input));
    targets.emplace_back("target", std::move(target));
  }
  Batch(NamedTensors given_inputs, NamedTensors given_targets)
      : inputs(std::move(given_inputs)), targets(std::move(given_targets)) {}

  std::int64_t samples() const { return inputs.front().second.size(0); }

  // The first `count` samples, in the same memory.
  Batch first(std::int64_t count) const {
    Batch part;
    for (const auto& [name, tensor] : inputs) part.inputs.emplace_back(name, tensor.narrow(0, 0, count));
    for (const auto& [name, tensor] : targets) part.targets.emplace_back(name, tensor.narrow(0, 0, count));
    if (weights.defined()) part.weights = weights.narrow(0, 0, count);
    return part;
  }
};

// Bytes that tell samples apart: the cells of a row, numbers, or the name of a file.
struct Content {
  std::string input;
  std::string target;
};

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
  // A dataset with the trait {"streams", true} reads so many blocks at a time; 0: all of its data.
  std::int64_t window = 0;
  format::OpenBytes open = format::open_local;  // opens files of a stream, and of tar
};

// The contract of a dataset. A dataset is one file in this folder: a class, a struct of its options, and a call of
// registry().add with a function that builds the dataset from the options and the context. The trait "loss" names the
// loss that fits the targets. The trait {"predicts_from", OPTION} names the option with the files; `predict` replaces
// it with its inputs.

// The class of a sample whose target does not count. No data have this number as a class.
inline constexpr std::int64_t kNoClass = std::numeric_limits<std::int64_t>::min();

// Tells whether a graph computes this loss. The targets of a table are then numbers, or classes if the option `classes`
// names them; and the graph may ignore targets of any value.
inline bool is_loss_of_graph(const std::string& loss) { return loss == "model" || loss == "exported"; }

class Dataset {
 public:
  virtual ~Dataset() = default;
  // Returns the preprocessing that was fitted on the training data, or came from the context; a prediction needs it.
  // Null: none.
  virtual config::Value preprocessing() const { return nullptr; }
  // Returns the sizes that a model may take from the data: "num_classes", "vocab_size", … Sizes that the shape of a
  // sample shows may be missing.
  virtual config::Value facts() const { return config::Value::object(); }
  // Describes the data for people.
  virtual config::DatasetDescription describe() const { return {}; }
  // Returns warnings about the data, a line each.
  virtual std::vector<std::string> warnings() const { return {}; }
  // Returns the parts of a data report that are specific to this kind of dataset: "rows" and "histograms" of a table,
  // "blocks" and "frequent" of a text. `training`: the training samples (int64 [n]; undefined: they are drawn);
  // `first`: some of them. Empty: the report shows the numbers of `first` and their histograms.
  virtual config::Value preview(const at::Tensor& training, const Batch& first) const {
    static_cast<void>(training);
    static_cast<void>(first);
    return config::Value::object();
  }
  // Returns the names of the samples that were unreadable so far and are missing in their batches.
  virtual std::vector<std::string> left_out() const { return {}; }
  // Returns the tensors that this dataset keeps in memory, for all ranks of a node to share. A dataset with such
  // tensors has the trait {"held", true}, and takes them from the context if the context has them.
  virtual NamedTensors held() const { return {}; }
};

// A dataset whose samples have indices.
class MapDataset : public Dataset {
 public:
  virtual std::int64_t size() const = 0;
  // Returns the samples at `indices` (int64 [n], each in [0, size)), as fresh contiguous tensors that start at a
  // 64-byte boundary, as stacked tensors do: MKL's sums depend on it. Thread-safe. Random numbers come from Draws(seed
  // of the context, epoch, index of the sample), never from the global generator.
  virtual Batch gather(const at::Tensor& indices, std::int64_t epoch) const = 0;
  // Applies the transforms of a whole micro-batch, for training, at its place in the run. Thread-safe. Random numbers
  // come from Draws with the seed of the context and this place.
  virtual Batch at_place(Batch batch, const MicroBatchPosition& place) const {
    static_cast<void>(place);
    return batch;
  }
  // Returns the same samples without random transforms, for an evaluation, from the same memory and files. Null: this
  // dataset has no random transforms.
  virtual std::shared_ptr<const MapDataset> for_measuring() const { return nullptr; }
  // Of a stream: where its blocks begin, and the number of samples: block b has the samples begins[b] to
  // begins[b + 1]. A gather reads the blocks of its samples, and the last ones stay in memory. Empty: no stream.
  virtual std::vector<std::int64_t> block_begins() const { return {}; }
  // Of a stream: the bytes of its largest block in memory.
  virtual std::int64_t block_bytes() const { return 0; }
  // True if a gather only copies memory. Then no thread prefetches: the hand-over would cost more than the copy.
  virtual bool in_memory() const { return false; }
  // Returns the random values of a sample in an epoch, one for each transform; null: nothing is random.
  virtual config::Value draws(std::int64_t sample, std::int64_t epoch) const {
    static_cast<void>(sample);
    static_cast<void>(epoch);
    return nullptr;
  }
  // Returns the class of each sample (int64 [size]), for a stratified split; undefined: the samples have no classes.
  // The class of a sample is kNoClass if its target does not count.
  virtual at::Tensor classes() const { return {}; }
  // Returns the weight of each sample (float32 [size]); undefined: they have none.
  virtual at::Tensor weights() const { return {}; }
  // Calls `check` with the targets of all samples, some at a time, without reading their inputs. Adds the place of a
  // target to an error of `check`. Returns false if classes() has all targets, or the dataset has checked its targets
  // when it read them.
  virtual bool check_targets(const std::function<void(const at::Tensor& targets)>& check) const {
    static_cast<void>(check);
    return false;
  }
  // Returns the name of a class, for people.
  virtual std::string class_name(std::int64_t number) const { return std::to_string(number); }
  // Returns the path of a sample that is a file; its prediction begins with it. "": the sample is a row of a file.
  virtual std::string sample_path(std::int64_t sample) const {
    static_cast<void>(sample);
    return "";
  }
  // Returns the name that the data give to a sample, for people. "": none.
  virtual std::string sample_id(std::int64_t sample) const {
    static_cast<void>(sample);
    return "";
  }
  // Returns what tells a sample from others in any version of the data. Called before fit(), which plays no part.
  virtual Content content(std::int64_t sample) const;
  // Returns a number for each sample (int64 [size]). Samples with the same value in `column` have the same number, for
  // a split that keeps them together. Throws ddp::Error (usage) if the column does not exist.
  virtual at::Tensor groups(const std::string& column) const;
  // Returns the number, or the days of the date, of each sample in a column (float64 [size]), for a split in this
  // order. Throws ddp::Error (usage) if the column does not exist, or a cell is missing or no number.
  virtual at::Tensor numbers(const std::string& column) const;
  // Fits the preprocessing on the training samples, unless the context has one, and applies it. It is called once,
  // before any gather, on training, validation and test data that are not held.
  virtual void fit(const at::Tensor& samples) { static_cast<void>(samples); }
  // Returns the usable ones of these samples, after the fit: a table may drop rows with missing cells.
  virtual at::Tensor usable(const at::Tensor& samples) const { return samples; }
};

// An endless dataset.
class DrawnDataset : public Dataset {
 public:
  // Returns `batch_size` samples, drawn either with Draws of the context's seed and this place, so that a resumed run
  // draws the same ones, or from the global generator. Called on the training thread, in the order of the places.
  virtual Batch draw(std::int64_t batch_size, const MicroBatchPosition& place) const = 0;
};

using Registry = config::Registry<std::unique_ptr<Dataset>, const Context&>;
Registry& registry();

}  // namespace ddp::datasets
