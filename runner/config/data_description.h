#pragma once

#include <optional>
#include <string>
#include <vector>

#include "base/error.h"
#include "config/option/fields.h"

namespace ddp::config {

// A description of the data of an experiment, as ranks make it and `plan` prints it.

// Hashes that identify the rows of [dataset], and those of them that are measured.
struct Rows {
  std::int64_t count = 0;     // 0: the samples have no indices
  std::string marks = {};     // kDigitsOfMark of the hash of each compared row
  std::string known = {};     // the same of the rows before the last ones were added; "": none were
  std::string held_out = {};  // hash of the rows that are measured; "": none are

  static constexpr std::size_t kDigitsOfMark = 8;
  bool any() const { return count > 0; }
  void fields(Fields& f) {
    f({.name = "count", .optional = true}, count);
    f({.name = "marks", .optional = true}, marks);
    f({.name = "known", .optional = true}, known);
    f({.name = "held_out", .optional = true}, held_out);
    if (f.reads() && marks.size() % kDigitsOfMark != 0) throw usage_error("\"marks\" is cut");
  }
};

// One of the sets to train and to measure on.
struct SetDescription {
  std::string set = {};
  std::optional<std::int64_t> samples = {};  // nothing: endless
  std::optional<double> share = {};          // of the samples of the dataset that sets share
  std::optional<std::int64_t> groups = {};   // with the option "by"
  std::optional<std::int64_t> tokens = {};   // of a text
  std::optional<std::vector<std::int64_t>> class_counts = {};

  void fields(Fields& f) {
    f({.name = "set", .choices = {"train", "validation", "test"}}, set);
    f({"samples", "null: endless"}, samples);
    f({.name = "share", .doc = "of the samples of [dataset] that are in a set; null: own data", .optional = true},
      share);
    f({.name = "groups", .doc = "number of values in the column `by`", .optional = true}, groups);
    f({.name = "tokens", .doc = "for a text: number of tokens of this part", .optional = true}, tokens);
    f({.name = "class_counts", .doc = "samples of each class, in the order of classes.names", .optional = true},
      class_counts);
  }
};

struct ClassesDescription {
  std::int64_t count = 0;
  std::vector<std::string> names = {};

  void fields(Fields& f) {
    f({.name = "count", .range = at_least(1)}, count);
    f({"names", "the first 1000"}, names);
  }
};

// A column of a table.
struct ColumnDescription {
  std::string name = {};
  std::string role = {};
  std::string type = {};
  std::optional<std::vector<std::string>> values = {};
  std::optional<std::int64_t> value_count = {};
  std::int64_t missing = 0;

  void fields(Fields& f) {
    f({"name"}, name);
    f({.name = "role", .choices = {"feature", "target", "weights"}}, role);
    f({.name = "type",
       .doc = "binary: 0 or 1, independently for each target column",
       .choices = {"number", "date", "category", "class", "binary"}},
      type);
    f({.name = "values", .doc = "for a category: the first 50 values of the training rows", .optional = true}, values);
    f({.name = "value_count", .optional = true}, value_count);
    f({"missing", "number of missing cells in all rows"}, missing);
  }
};

// An array of a file.
struct ArrayDescription {
  std::string name = {};
  std::string role = {};
  std::string dtype = {};
  std::vector<std::int64_t> shape = {};

  void fields(Fields& f) {
    f({"name", "file, and name in the file"}, name);
    f({.name = "role", .choices = {"input", "target", "weights"}}, role);
    f({"dtype"}, dtype);
    f({"shape"}, shape);
  }
};

// A tensor of a batch.
struct TensorDescription {
  std::string name = {};
  std::string dtype = {};
  std::vector<std::int64_t> shape = {};
  Value least = nullptr;
  Value greatest = nullptr;
  std::int64_t not_finite = 0;

  void fields(Fields& f) {
    f({"name"}, name);
    f({.name = "dtype", .choices = {"float32", "int64"}}, dtype);
    f({"shape", "the first extent counts samples"}, shape);
    f.as<std::optional<double>>({"least", "least finite number; null: none"}, least);
    f.as<std::optional<double>>({"greatest", "greatest finite number; null: none"}, greatest);
    f({"not_finite", "numbers that are infinite or NaN"}, not_finite);
  }
};

struct BatchDescription {
  std::vector<TensorDescription> inputs = {};
  std::vector<TensorDescription> targets = {};

  void fields(Fields& f) {
    f({"inputs"}, inputs);
    f({"targets"}, targets);
  }
};

// A dataset's description of itself, without a pass over its files.
struct DatasetDescription {
  std::optional<std::int64_t> rows = {};                       // of the files
  std::optional<std::vector<ColumnDescription>> columns = {};  // of a table
  std::optional<std::vector<ArrayDescription>> arrays = {};
  std::optional<std::int64_t> tokens = {};  // of a text, as the next three
  std::optional<std::int64_t> block_size = {};
  std::optional<std::string> tokenizer = {};
  std::optional<std::int64_t> vocab_size = {};
  std::vector<std::string> classes = {};  // names, in the order of their numbers
  std::vector<std::int64_t> image = {};   // [h, w] or [c, h, w] of a picture whose input tensor has another shape
};

// How a stream is read.
struct StreamDescription {
  std::int64_t blocks = 0;
  std::int64_t block_bytes = 0;
  std::int64_t memory_bytes = 0;
  std::int64_t disk_bytes = 0;
  std::int64_t epoch_bytes = 0;
  double samples_per_second = 0;

  void fields(Fields& f) {
    f({"blocks", "of the training files"}, blocks);
    f({"block_bytes", "of the largest block in memory"}, block_bytes);
    f({"memory_bytes", "of the blocks that a rank holds"}, memory_bytes);
    f({"disk_bytes", "of the cache folder that objects of URLs may take"}, disk_bytes);
    f({"epoch_bytes", "of the training files"}, epoch_bytes);
    f({"samples_per_second", "that one thread reads, measured on a few blocks"}, samples_per_second);
  }
};

struct DataDescription {
  DatasetDescription of_dataset = {};  // of training
  std::optional<std::int64_t> left_out = {};
  std::vector<SetDescription> sets = {};
  std::optional<ClassesDescription> classes = {};
  std::optional<StreamDescription> stream = {};
  BatchDescription first_batch = {};
  std::vector<std::string> warnings = {};

  void fields(Fields& f) {
    f({.name = "rows", .doc = "number of rows of the training files", .optional = true}, of_dataset.rows);
    f({.name = "left_out", .doc = "rows of the training files in no set: missing = \"drop\"", .optional = true},
      left_out);
    f({.name = "columns", .doc = "of a table: the used columns, targets last", .optional = true}, of_dataset.columns);
    f({.name = "arrays", .doc = "as the files store them", .optional = true}, of_dataset.arrays);
    f({.name = "block_size", .doc = "tokens of a sample", .range = at_least(1), .optional = true},
      of_dataset.block_size);
    f({.name = "tokenizer", .optional = true}, of_dataset.tokenizer);
    f({.name = "vocab_size", .doc = "of the tokenizer", .optional = true}, of_dataset.vocab_size);
    f({"sets"}, sets);
    f({.name = "classes", .doc = "if each sample has a class", .optional = true}, classes);
    f({.name = "stream", .doc = "with loader.stream", .optional = true}, stream);
    f({"first_batch", "first batch of rank 0"}, first_batch);
    f({"warnings", "of a table: what would make its results worthless"}, warnings);
  }
};

// A group of parameters with its own options of the optimizer, or a layer with its lr.
struct GroupDescription {
  std::vector<std::string> match = {};
  Value options = Value::object();
  double lr_scale = 1;
  std::int64_t parameters = 0;
  std::int64_t tensors = 0;

  void fields(Fields& f) {
    f({"match", "patterns; of a layer: beginnings of names; empty: the unmatched parameters"}, match);
    f({.name = "options", .doc = "options that differ from [optimizer]", .types = {Type::table}}, options);
    f({"lr_scale"}, lr_scale);
    f({"parameters", "number of trained parameters"}, parameters);
    f({"tensors"}, tensors);
  }
};

// The draws of the transforms for a training sample.
struct DrawnSample {
  std::int64_t sample = 0;
  Value draws = Value::array();

  void fields(Fields& f) {
    f({"sample", "index of the sample in the data"}, sample);
    const Value one = {{"type", "object"}, {"properties", {{"type", {{"type", "string"}}}}}, {"required", {"type"}}};
    f({"draws", "of each transform: its type, and its draws as make_params of torchvision.transforms.v2 names them"},
      draws, {{"type", "array"}, {"items", one}});
  }
};

struct DrawnSamples {
  std::vector<DrawnSample> samples = {};

  void fields(Fields& f) {
    f.version();
    f({"epoch"}, Value(0), {{"const", 0}});
    f({"samples", "the first training samples, in the order of the data"}, samples);
  }
};

}  // namespace ddp::config
