#pragma once

#include <array>
#include <cstdint>
#include <limits>
#include <string>
#include <vector>

#include "config/option/fields.h"
#include "config/registry.h"
#include "rank/request.h"
#include "record/saves/data_files.h"

// The requests of the rank library's verbs, and their replies. Prediction and probe have headers of their own.
namespace ddp::rank {

// The verbs of the rank library. Each verb is one source file, which registers a function of its request struct, the
// task, and the receiver of its replies:
//
//   const bool train_registered = verbs().add<TrainRequest>(TrainRequest::kVerb, "trains as one rank", train);
//
// The function throws if it cannot continue; ddp_rank_serve reports the reason.
using Verbs = config::Registry<void, const Task&, const TakeReply&>;
Verbs& verbs();

// Trains as one rank, from its fork to its end. Sends no reply: the results are in the run directory.
struct TrainRequest {
  static constexpr const char* kVerb = "train";

  bool resumed = false;      // the run directory existed before
  std::string changes = {};  // changed settings since then, a JSON object: {"batch_size": [32, 16]}
  std::vector<record::DataFile> data_files = {};  // each checkpoint names them
  std::int64_t until_epoch = 0;                   // saves and stops when this many epochs are done; 0: at the end
  std::int64_t until_step = 0;                    // saves and stops after this step; 0: at the end

  std::int64_t profile_steps = 0;  // profiles so many steps; 0: none

  void fields(config::Fields& f) {
    f({.name = "resumed"}, resumed);
    f({.name = "changes"}, changes);
    f({.name = "data_files"}, data_files);
    f({.name = "until_epoch"}, until_epoch);
    f({.name = "until_step"}, until_step);
    f({.name = "profile_steps"}, profile_steps);
  }
};

// The memory of rank 0, in bytes, after the first steps of a training. Memory that ranks share counts whole.
struct FirstSteps {
  std::int64_t peak = 0;           // until then; no checkpoint was copied
  std::int64_t now = 0;            // less than the peak where recorded steps were replayed, and their memory freed
  std::int64_t files = 0;          // size of the data's files that are mapped
  std::int64_t files_touched = 0;  // the part of it that the steps have read
  std::int64_t recorded = 0;       // of the largest recording of a micro-batch; 0: none was recorded

  void fields(config::Fields& f) {
    f({.name = "peak"}, peak);
    f({.name = "now"}, now);
    f({.name = "files"}, files);
    f({.name = "files_touched"}, files_touched);
    f({.name = "recorded"}, recorded);
  }
};

// Takes the first steps of a training, together with the other ranks, and writes no file. Rank 0 replies with one
// FirstSteps.
struct FirstStepsRequest {
  using Reply = FirstSteps;
  static constexpr const char* kVerb = "first_steps";

  std::int64_t steps = 1;               // fewer than the training has
  std::vector<std::string> files = {};  // of the data

  void fields(config::Fields& f) {
    f({.name = "steps"}, steps);
    f({.name = "files"}, files);
  }
};

// The measured values, by their names in events: val_loss, test_accuracy, …. A matrix, such as val_confusion, is a list
// of rows.
struct Measurement {
  // How much worse the metric is with the cells of a column in another order, for each repeat. JSON has no NaN.
  struct Importance {
    std::string column;
    std::vector<double> values;

    void fields(config::Fields& f) {
      f({.name = "column"}, column);
      f({.name = "values"}, values);
    }
  };

  config::Value values = config::Value::object();
  std::vector<std::string> warnings;
  std::vector<Importance> importances = {};

  void fields(config::Fields& f) {
    f({.name = "values", .types = {config::Type::table}}, values);
    f({.name = "warnings"}, warnings);
    f({.name = "importances"}, importances);
  }
};

// Measures the weights of the checkpoint that the task resumes from, as training does. Rank 0 replies with one
// Measurement.
struct EvaluateRequest {
  using Reply = Measurement;
  static constexpr const char* kVerb = "evaluate";

  bool whole = false;  // on all samples of [dataset], not validation and test; names have no prefix
  bool raw = false;    // the trained weights, not their average
  // More than 0: also measures the importance of each column of a table, so many times, on the validation if there is
  // one, else on the test.
  std::int64_t repeats = 0;
  std::string metric = {};  // of the importances: its name without a prefix
  bool greater = false;     // a greater value is better

  void fields(config::Fields& f) {
    f({.name = "whole"}, whole);
    f({.name = "raw"}, raw);
    f({.name = "repeats"}, repeats);
    f({.name = "metric"}, metric);
    f({.name = "greater"}, greater);
  }
};

// A part of a generated text.
struct Continuation {
  std::string text;  // complete characters; a character split between tokens is in the later part
  std::vector<std::int64_t> tokens;

  void fields(config::Fields& f) {
    f({.name = "text"}, text);
    f({.name = "tokens"}, tokens);
  }
};

// Continues a prompt on one rank, with the weights of the checkpoint that the task resumes from and the tokenizer in
// the task's preprocessing. Replies with the prompt, then with each token when it is drawn, and last with a replacement
// for an incomplete character, if any.
struct GenerateRequest {
  using Reply = Continuation;
  static constexpr const char* kVerb = "generate";

  std::string prompt;
  std::int64_t tokens = 0;
  double temperature = 0.8;  // 0: always the most likely token
  std::int64_t top_k = 200;
  std::int64_t seed = 42;
  bool raw = false;  // the trained weights, not their average

  void fields(config::Fields& f) {
    f({.name = "prompt"}, prompt);
    f({.name = "tokens"}, tokens);
    f({.name = "temperature"}, temperature);
    f({.name = "top_k"}, top_k);
    f({.name = "seed"}, seed);
    f({.name = "raw"}, raw);
  }
};

// The result of an export.
struct Exported {
  std::int64_t error = 0;  // errno; 0: success

  void fields(config::Fields& f) { f({.name = "error"}, error); }
};

// Writes an archive of torch.export with trained weights, or without weights. The reply is one Exported.
struct ExportRequest {
  using Reply = Exported;
  static constexpr const char* kVerb = "export";

  std::string archive = {};
  std::string weights = {};     // a .safetensors file of the checkpoint; "": none, only the graph and its constants
  bool evaluates = false;       // write the graph of evaluation mode
  std::int64_t descriptor = 0;  // file descriptor to write to

  void fields(config::Fields& f) {
    f({.name = "archive"}, archive);
    f({.name = "weights"}, weights);
    f({.name = "evaluates"}, evaluates);
    f({.name = "descriptor"}, descriptor);
  }
};

// Describes the data of an experiment, for people. The reply is the result of data::describe of the held data.
struct DescribeRequest {
  static constexpr const char* kVerb = "describe";

  void fields(config::Fields&) {}
};

// Builds the parts of a report about the data. The reply is the result of data::preview.
struct PreviewRequest {
  static constexpr const char* kVerb = "preview";

  void fields(config::Fields&) {}
};

// Tells the set of each sample of the training files. The reply is the result of data::sets_of_rows.
struct SetsRequest {
  static constexpr const char* kVerb = "sets";

  void fields(config::Fields&) {}
};

// Returns the random draws for the first training samples in the first epoch. The reply is a config::DrawnSamples.
struct DrawsRequest {
  static constexpr const char* kVerb = "draws";

  std::int64_t samples = 1;

  void fields(config::Fields& f) { f({.name = "samples"}, samples); }
};

// Builds the data of an experiment and writes their in-memory tensors to a file, which the ranks receive as
// Task::held_data. The reply is the result of data::facts_of.
struct HoldRequest {
  static constexpr const char* kVerb = "hold";

  std::string file;    // empty: only describe the data
  bool whole = false;  // use all samples of [dataset] as one test set, as data::build_whole

  void fields(config::Fields& f) {
    f({.name = "file"}, file);
    f({.name = "whole"}, whole);
  }
};

// Lists every registered component. The reply is one config::Components as JSON.
struct ComponentsRequest {
  static constexpr const char* kVerb = "components";

  void fields(config::Fields&) {}
};

// The names of the collectives that can be measured, and of their element types.
inline constexpr std::array kCommOps{"all_reduce", "reduce", "broadcast", "scatter", "gather", "all_gather"};
inline constexpr std::array kCommTypes{"float", "double", "half", "bfloat16", "int8", "uint8", "int32", "int64"};

// The result of all ranks for one collective of one size.
struct CommRow {
  std::string op;
  std::int64_t bytes = 0;     // of the largest tensor of a rank, as in nccl-tests
  std::int64_t elements = 0;  // number of elements in these bytes
  double microseconds = 0;    // mean time of a call on the slowest rank
  double bus_factor = 0;      // bus bandwidth = bytes / time * bus_factor
  std::int64_t wrong = 0;     // number of wrong values on all ranks

  // The first wrong value, if any. NaN is null in JSON, and null is read as the default.
  std::int64_t rank = 0;
  std::int64_t index = 0;
  double expected = std::numeric_limits<double>::quiet_NaN();
  double got = std::numeric_limits<double>::quiet_NaN();

  void fields(config::Fields& f) {
    f({.name = "op"}, op);
    f({.name = "bytes"}, bytes);
    f({.name = "elements"}, elements);
    f({.name = "microseconds"}, microseconds);
    f({.name = "bus_factor"}, bus_factor);
    f({.name = "wrong"}, wrong);
    f({.name = "rank"}, rank);
    f({.name = "index"}, index);
    f({.name = "expected"}, expected);
    f({.name = "got"}, got);
  }
};

// Measures collectives together with the other ranks. The replies are CommRows, the same and in the same order on every
// rank.
struct CommRequest {
  using Reply = CommRow;
  static constexpr const char* kVerb = "comm";

  std::vector<std::string> ops;
  std::vector<std::int64_t> sizes;  // bytes
  std::string dtype = "float";
  std::int64_t iterations = 20;
  std::int64_t warmup = 5;
  bool check = true;  // check every value of every rank, in calls that are not timed

  // The names are the options of `ddp-exp comm`.
  void fields(config::Fields& f) {
    f({.name = "op"}, ops);
    f({.name = "sizes"}, sizes);
    f({.name = "dtype"}, dtype);
    f({.name = "iterations"}, iterations);
    f({.name = "warmup"}, warmup);
    f({.name = "check"}, check);
  }
};

}  // namespace ddp::rank
