#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <string>
#include <vector>

#include "config/experiment.h"
#include "record/run_directory.h"

namespace ddp::record {

// The graphs of a run: the .pt2 files that the options of an exported model and an exported loss name. A run keeps
// copies in its folder model/. All that goes on from or uses a checkpoint reads the copies; the user's files may change
// or go. The model's copy has the initial weights if checkpoint.initial_weights is on; all runs of a results folder
// share its bytes by hard links from results/.graphs/, where the file system has them.
struct Graph {
  std::string key;         // of its option: "model.path"
  std::string path;        // the user's file
  std::string file;        // the file to read: this one, or a run's copy
  std::int64_t bytes = 0;  // size and hash of the user's file
  std::string hash;        // "": it cannot be read
  bool is_whole = true;    // `file` has the weights

  void fields(config::Fields& f);  // of origins.json
};

std::vector<Graph> graphs_of(config::Experiment experiment);

// Lets the experiment read the run's copies of the files that it names, except for the options `others`.
void use_graphs_of(const RunDirectory& run, config::Experiment& experiment,
                   const std::function<bool(const std::string& key)>& others = {});

// For a run that starts again from nothing: lets the experiment read the run's whole copies of files that have changed
// or gone. Throws ddp::Error (training) for such a file if the run's copy has no weights.
void use_first_graphs_of(const RunDirectory& run, config::Experiment& experiment);

struct KeptGraph {
  Graph graph;
  std::string copy;  // the bytes; "": `graph.file` whole
};

// Writes the copies into the run's folder, unless it has them. Throws ddp::Error (training) if they cannot be written.
void keep_graphs(const RunDirectory& run, const std::vector<KeptGraph>& graphs);

// Removes the files of results/.graphs/ that no run has any more.
void remove_unused_graphs(const std::filesystem::path& results);

}  // namespace ddp::record
