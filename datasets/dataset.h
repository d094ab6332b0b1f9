#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include <ATen/core/Tensor.h>

#include "config/registry.h"
#include "datasets/batch.h"
#include "datasets/context.h"
#include "datasets/place.h"

// The contract of a dataset. A dataset is one file in this folder: a class, a struct with its options, and one call of
// registry().add with a function of its options and the context; its traits name the loss that fits its targets. The
// trait {"predicts_from", OPTION} names the option of the files that `predict` replaces with its inputs.
namespace ddp::datasets {

class Dataset {
 public:
  virtual ~Dataset() = default;
  // Returns what was fitted on the training data, or was given by the context: what a prediction needs. Null: nothing.
  virtual config::Value preprocessing() const { return nullptr; }
  // Returns the sizes that a model may leave to the data: "num_classes", "vocab_size", … What the shape of a sample
  // tells need not be here.
  virtual config::Value facts() const { return config::Value::object(); }
  // Describes the data for people, without a pass over files. All keys may be left out: "rows" of the files; "columns"
  // of a table; "classes", their names in the order of the numbers; "arrays", as they are in the files; "tokens",
  // "tokenizer", "vocab_size" and "block_size" of a text; "image", the shape [h, w] or [c, h, w] of an input that is a
  // picture but has another shape.
  virtual config::Value describe() const { return config::Value::object(); }
  // Returns doubts about the data, a line each.
  virtual std::vector<std::string> warnings() const { return {}; }
  // Returns the parts of a page about the data that this kind of dataset alone can tell: "rows" and "histograms" of a
  // table, "blocks" and "frequent" of a text. `training`: the samples that train (int64 [n]; undefined: they are
  // drawn); `first`: some of them. Empty: the page shows the numbers of `first` and their histograms.
  virtual config::Value preview(const at::Tensor& training, const Batch& first) const {
    static_cast<void>(training);
    static_cast<void>(first);
    return config::Value::object();
  }
  // Returns the names of the samples that could not be read so far and were left out of their batches.
  virtual std::vector<std::string> left_out() const { return {}; }
  // Returns the tensors that this dataset keeps in memory, which all ranks of a machine can share. A dataset that has
  // some has the trait {"held", true}, and takes them from the context where that has them.
  virtual NamedTensors held() const { return {}; }
};

// Samples that can be asked for by index.
class MapDataset : public Dataset {
 public:
  virtual std::int64_t size() const = 0;
  // Returns the samples at `indices` (int64 [n], each in [0, size)), as fresh contiguous tensors that start at a
  // 64-byte boundary, as stacked ones do: MKL's sums depend on it. Safe from several threads. Random numbers come from
  // Draws(seed of the context, epoch, index of the sample), never from the global generator.
  virtual Batch gather(const at::Tensor& indices, std::int64_t epoch) const = 0;
  // Returns what training makes of a whole micro-batch at its place in the run. Safe from several threads. Random
  // numbers come from Draws of the seed of the context and this place.
  virtual Batch at_place(Batch batch, const Place& place) const {
    static_cast<void>(place);
    return batch;
  }
  // Returns the same samples as a measurement takes them, without what is random, from the same memory and files; null:
  // they are the same.
  virtual std::shared_ptr<const MapDataset> for_measuring() const { return nullptr; }
  // Is a gather no more than a copy in memory? Then no thread fetches ahead: handing over would cost more.
  virtual bool in_memory() const { return false; }
  // Returns what is drawn for a sample in an epoch, a value for each transform; null: nothing is drawn for a sample.
  virtual config::Value draws(std::int64_t sample, std::int64_t epoch) const {
    static_cast<void>(sample);
    static_cast<void>(epoch);
    return nullptr;
  }
  // Returns the class of each sample (int64 [size]), for a split that keeps the shares of classes; undefined: none. A
  // sample whose target does not count has a negative one.
  virtual at::Tensor classes() const { return {}; }
  // Returns the name of a class, for people.
  virtual std::string class_name(std::int64_t number) const { return std::to_string(number); }
  // Returns the path of a sample that is a file, which its prediction begins with; "": it is a row of one.
  virtual std::string sample_path(std::int64_t sample) const {
    static_cast<void>(sample);
    return "";
  }
  // Returns a number for each sample (int64 [size]), equal where the values of this column are, for a split that keeps
  // them together. Throws ddp::Error (usage) where there is no such column.
  virtual at::Tensor groups(const std::string& column) const;
  // Fits on these samples, the training part, what preprocessing() returns then. It is called once, before any gather,
  // where the context gave no preprocessing.
  virtual void fit(const at::Tensor& samples) { static_cast<void>(samples); }
  // Returns those of these samples that can be used once it is fitted: a table may drop rows with missing cells.
  virtual at::Tensor usable(const at::Tensor& samples) const { return samples; }
};

// Samples without end that belong to a place in the run: what a rank draws depends on nothing else.
class PlacedDataset : public Dataset {
 public:
  // Returns `batch_size` samples, drawn with Draws of the seed of the context and this place.
  virtual Batch draw(std::int64_t batch_size, const Place& place) const = 0;
};

// Samples without end and without order: each batch is drawn from the global generator.
class DrawnDataset : public Dataset {
 public:
  virtual Batch draw(std::int64_t batch_size) const = 0;
};

using Registry = config::Registry<std::unique_ptr<Dataset>, const Context&>;
Registry& registry();

}  // namespace ddp::datasets
