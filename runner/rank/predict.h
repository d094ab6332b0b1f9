#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "config/option/fields.h"

// A prediction uses pipes, so neither the input nor the output has to fit into memory. One process reads rows and deals
// blocks of rows to the ranks in turn. Each rank runs its blocks through the model. One process writes the results in
// the order of the blocks. A pipe block is its size (8 bytes) and its content; size 0 is the end. A rank receives a
// DealtRows first; then for each block of rows one pipe block for each input of the model, and one more with the labels
// of the rows if they have any: row by row, each label followed by a zero byte. A rank sends one pipe block for each
// block of rows; rank 0 sends the header (predictions.h) first.
namespace ddp::rank {

// Reads files and deals their rows, preprocessed as in training, to the ranks.
struct DealRequest {
  static constexpr const char* kVerb = "deal";

  std::vector<std::string> inputs;
  std::vector<std::string> shown = {};  // the inputs as the user wrote them, for the paths of rows
  std::int64_t files_of_row = 1;        // this many consecutive inputs hold the same rows
  std::vector<std::string> keep = {};   // columns of a table to copy into the output
  bool held_out = false;                // in place of files: the run's validation, with each row's number and target
  std::vector<std::int64_t> pipes;      // to the ranks
  std::int64_t batch_size = 0;

  void fields(config::Fields& f) {
    f({.name = "inputs"}, inputs);
    f({.name = "shown"}, shown);
    f({.name = "files_of_row"}, files_of_row);
    f({.name = "keep"}, keep);
    f({.name = "held_out"}, held_out);
    f({.name = "pipes"}, pipes);
    f({.name = "batch_size"}, batch_size);
  }
};

// The layout of the rows that a rank receives.
struct DealtRows {
  struct Input {
    std::int64_t type = 0;            // at::ScalarType
    std::vector<std::int64_t> shape;  // of a row

    bool operator==(const Input&) const = default;
    void fields(config::Fields& f) {
      f({.name = "type"}, type);
      f({.name = "shape"}, shape);
    }
  };

  std::string file;             // the first file, for messages
  std::int64_t block_rows = 0;  // a multiple of the batch size; the last block may be short
  // The text columns in front of the results: the path of an image, or the columns to keep.
  std::vector<std::string> labels = {};
  std::vector<Input> inputs;  // in the order of the model's inputs

  void fields(config::Fields& f) {
    f({.name = "file"}, file);
    f({.name = "block_rows"}, block_rows);
    f({.name = "labels"}, labels);
    f({.name = "inputs"}, inputs);
  }
};

// Predicts the blocks of a rank.
struct PredictRequest {
  static constexpr const char* kVerb = "predict";

  std::int64_t from = -1;  // pipes
  std::int64_t to = -1;
  std::int64_t ranks = 1;
  std::int64_t batch_size = 0;  // of a forward pass; it affects the last bits
  std::string form = "csv";     // "csv", "npy", "parquet", or "floats": those of "npy" without a head
  bool raw = false;             // the trained weights, not their average
  // Files with the results of other models for the same rows, which form "floats" wrote: the mean is predicted.
  std::vector<std::string> other_models = {};
  bool decides = true;                   // by the checkpoint's [decide]
  std::optional<double> threshold = {};  // in place of the checkpoint's

  void fields(config::Fields& f) {
    f({.name = "other_models"}, other_models);
    f({.name = "decides"}, decides);
    f({.name = "threshold"}, threshold);
    f({.name = "from"}, from);
    f({.name = "to"}, to);
    f({.name = "ranks"}, ranks);
    f({.name = "batch_size"}, batch_size);
    f({.name = "form"}, form);
    f({.name = "raw"}, raw);
  }
};

// Writes the predictions of the ranks.
struct CollectRequest {
  static constexpr const char* kVerb = "collect";

  std::vector<std::int64_t> pipes;  // from the ranks
  std::int64_t out = -1;            // file descriptor; a .npy or .parquet file must be empty and seekable
  std::string form = "csv";
  std::string name;  // of the output, for messages

  void fields(config::Fields& f) {
    f({.name = "pipes"}, pipes);
    f({.name = "out"}, out);
    f({.name = "form"}, form);
    f({.name = "name"}, name);
  }
};

}  // namespace ddp::rank
