#pragma once

#include <optional>
#include <string>
#include <vector>

#include "config/output.h"

namespace ddp::config {

// A description of the data of an experiment, as ranks make it and `plan` prints it.

// One of the sets to train and to measure on.
struct SetDescription {
  std::string set = {};
  std::optional<std::int64_t> samples = {};  // nothing: endless
  std::optional<double> share = {};          // of the samples of the dataset that sets share
  std::optional<std::int64_t> groups = {};   // with the option "by"
  std::optional<std::int64_t> tokens = {};   // of a text
  std::optional<std::vector<std::int64_t>> class_counts = {};

  void members(Members& m) const {
    m({.name = "set", .choices = "train|validation|test"}, set);
    m({"samples", "null: endless"}, samples);
    m({.name = "share", .doc = "of the samples of [dataset] that are in a set; null: own data", .optional = true},
      share);
    m({.name = "groups", .doc = "number of values in the column `by`", .optional = true}, groups);
    m({.name = "tokens", .doc = "for a text: number of tokens of this part", .optional = true}, tokens);
    m({.name = "class_counts", .doc = "samples of each class, in the order of classes.names", .optional = true},
      class_counts);
  }
};

struct ClassesDescription {
  std::int64_t count = 0;
  std::vector<std::string> names = {};

  void members(Members& m) const {
    m({.name = "count", .minimum = 1}, count);
    m({"names", "the first 1000"}, names);
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

  void members(Members& m) const {
    m({"name"}, name);
    m({.name = "role", .choices = "feature|target|weights"}, role);
    m({.name = "type",
       .doc = "binary: 0 or 1, independently for each target column",
       .choices = "number|category|class|binary"},
      type);
    m({.name = "values", .doc = "for a category: the first 50 values of the training rows", .optional = true}, values);
    m({.name = "value_count", .optional = true}, value_count);
    m({"missing", "number of missing cells in all rows"}, missing);
  }
};

// An array of a file.
struct ArrayDescription {
  std::string name = {};
  std::string role = {};
  std::string dtype = {};
  std::vector<std::int64_t> shape = {};

  void members(Members& m) const {
    m({"name", "file, and name in the file"}, name);
    m({.name = "role", .choices = "input|target|weights"}, role);
    m({"dtype"}, dtype);
    m({"shape"}, shape);
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

  void members(Members& m) const {
    m({"name"}, name);
    m({.name = "dtype", .choices = "float32|int64"}, dtype);
    m({"shape", "the first extent counts samples"}, shape);
    m.as<std::optional<double>>({"least", "least finite number; null: none"}, least);
    m.as<std::optional<double>>({"greatest", "greatest finite number; null: none"}, greatest);
    m({"not_finite", "numbers that are infinite or NaN"}, not_finite);
  }
};

struct BatchDescription {
  std::vector<TensorDescription> inputs = {};
  std::vector<TensorDescription> targets = {};

  void members(Members& m) const {
    m({"inputs"}, inputs);
    m({"targets"}, targets);
  }
};

struct DataDescription {
  Value of_dataset = Value::object();  // Dataset::describe
  std::optional<std::int64_t> left_out = {};
  std::vector<SetDescription> sets = {};
  std::optional<ClassesDescription> classes = {};
  BatchDescription first_batch = {};

  void members(Members& m) const {
    const auto own = [this](const char* key) { return of_dataset.value(key, Value()); };
    m.as<std::int64_t>({.name = "rows", .doc = "number of rows of the training files", .optional = true}, own("rows"));
    m({.name = "left_out", .doc = "rows of the training files in no set: missing = \"drop\"", .optional = true},
      left_out);
    m.as<std::vector<ColumnDescription>>(
        {.name = "columns", .doc = "of a table: the used columns, targets last", .optional = true}, own("columns"));
    m.as<std::vector<ArrayDescription>>({.name = "arrays", .doc = "as the files store them", .optional = true},
                                        own("arrays"));
    m.as<std::int64_t>({.name = "block_size", .doc = "tokens of a sample", .minimum = 1, .optional = true},
                       own("block_size"));
    m.as<std::string>({.name = "tokenizer", .optional = true}, own("tokenizer"));
    m.as<std::int64_t>({.name = "vocab_size", .doc = "of the tokenizer", .optional = true}, own("vocab_size"));
    m({"sets"}, sets);
    m({.name = "classes", .doc = "if each sample has a class", .optional = true}, classes);
    m({"first_batch", "first batch of rank 0"}, first_batch);
  }
};

// A group of parameters with its own options of the optimizer.
struct GroupDescription {
  std::vector<std::string> match = {};
  Value options = Value::object();
  double lr_scale = 1;
  std::int64_t parameters = 0;
  std::int64_t tensors = 0;

  void members(Members& m) const {
    m({"match", "empty: the unmatched parameters"}, match);
    m({.name = "options", .doc = "options that differ from [optimizer]", .type = "object"}, options);
    m({"lr_scale"}, lr_scale);
    m({"parameters", "number of trained parameters"}, parameters);
    m({"tensors"}, tensors);
  }
};

// The draws of the transforms for a training sample.
struct DrawnSample {
  std::int64_t sample = 0;
  Value draws = Value::array();

  void members(Members& m) const {
    m({"sample", "index of the sample in the data"}, sample);
    const Value one = {{"type", "object"}, {"properties", {{"type", {{"type", "string"}}}}}, {"required", {"type"}}};
    m({"draws", "of each transform: its type, and its draws as make_params of torchvision.transforms.v2 names them"},
      draws, {{"type", "array"}, {"items", one}});
  }
};

struct DrawnSamples {
  std::vector<DrawnSample> samples = {};

  void members(Members& m) const {
    m.version();
    m({"epoch"}, Value(0), {{"const", 0}});
    m({"samples", "the first training samples, in the order of the data"}, samples);
  }
};

}  // namespace ddp::config
