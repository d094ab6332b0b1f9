#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "config/option/option.h"

// A prediction goes through pipes, so that neither the input nor the output has to fit into memory: one process reads
// rows and deals blocks of them to the ranks in turn, each rank runs its blocks through the model, and one process
// writes the answers in the order of the blocks. A block of a pipe is its size (8 bytes) and its content; size 0 is the
// end. To a rank goes first a DealtRows, then for each block of rows a block of a pipe for each input of the model, and
// where rows have paths one more: each path with a zero byte behind it.
// From a rank comes a block of a pipe for each block of rows, and from rank 0 first the head (predictions.h).
namespace ddp::rank {

// Asks a process to read files and to deal their rows, prepared as in training, to the ranks.
struct DealRequest {
  static constexpr const char* kVerb = "deal";

  std::vector<std::string> inputs;
  std::vector<std::string> shown = {};  // each of them as it was given, for the paths of rows
  std::int64_t files_of_row = 1;        // so many of them, which follow each other, hold the same rows
  std::vector<std::int64_t> pipes;      // to the ranks
  std::int64_t batch_size = 0;

  void fields(config::Fields& f) {
    f({.name = "inputs"}, inputs);
    f({.name = "shown"}, shown);
    f({.name = "files_of_row"}, files_of_row);
    f({.name = "pipes"}, pipes);
    f({.name = "batch_size"}, batch_size);
  }
};

// Describes the rows that a rank is dealt.
struct DealtRows {
  struct Input {
    std::int64_t type = 0;            // at::ScalarType
    std::vector<std::int64_t> shape;  // of a row

    bool operator==(const Input&) const = default;
  };

  std::string file;             // the first one, for people
  std::int64_t block_rows = 0;  // a multiple of the batch size; the last block may be short
  bool has_paths = false;       // each row is a file
  std::vector<Input> inputs;    // in the order in which the model takes them
};
std::string to_text(const DealtRows& rows);
DealtRows dealt_rows_of(const std::string& text);

// Asks a rank to predict its blocks.
struct PredictRequest {
  static constexpr const char* kVerb = "predict";

  std::int64_t from = -1;  // pipes
  std::int64_t to = -1;
  std::int64_t ranks = 1;
  std::int64_t batch_size = 0;
  std::string form = "csv";  // "csv", "npy" or "parquet"
  bool raw = false;          // the weights that training changes, not their average

  void fields(config::Fields& f) {
    f({.name = "from"}, from);
    f({.name = "to"}, to);
    f({.name = "ranks"}, ranks);
    f({.name = "batch_size"}, batch_size);
    f({.name = "form"}, form);
    f({.name = "raw"}, raw);
  }
};

// Asks a process to write what the ranks answer.
struct CollectRequest {
  static constexpr const char* kVerb = "collect";

  std::vector<std::int64_t> pipes;  // from the ranks
  std::int64_t out = -1;            // a descriptor; a .npy or .parquet file is empty, and can seek
  std::string form = "csv";
  std::string name;  // of the output, for people

  void fields(config::Fields& f) {
    f({.name = "pipes"}, pipes);
    f({.name = "out"}, out);
    f({.name = "form"}, form);
    f({.name = "name"}, name);
  }
};

}  // namespace ddp::rank
