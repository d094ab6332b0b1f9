#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "config/experiment.h"
#include "record/run_directory.h"

namespace ddp::record {

// The graphs of a run: the .pt2 files that the options of an exported model and an exported loss name. A run keeps
// copies in its folder model/, without the weights, which its checkpoints have. All that goes on from or uses a
// checkpoint reads the copies; the user's files may change or go.
struct Graph {
  std::string key;         // of its option: "model.path"
  std::string path;        // the user's file
  std::string file;        // the file to read: this one, or a run's copy
  std::int64_t bytes = 0;  // size and hash of the user's file
  std::string hash;        // "": it cannot be read
};

std::vector<Graph> graphs_of(config::Experiment experiment);

// Lets the experiment read the run's copies of the files that it names, except for the options `others`.
void use_graphs_of(const RunDirectory& run, config::Experiment& experiment,
                   const std::function<bool(const std::string& key)>& others = {});

// Throws ddp::Error (training) if a file that the experiment names is not the one that the run has copied. The copies
// have no weights: a run that starts again from nothing needs the file itself.
void require_same_graphs(const RunDirectory& run, const config::Experiment& experiment);

struct KeptGraph {
  Graph graph;
  std::string copy;  // the bytes
};

// Writes the copies into the run's folder, unless it has them. Throws ddp::Error (training) if they cannot be written.
void keep_graphs(const RunDirectory& run, const std::vector<KeptGraph>& graphs);

}  // namespace ddp::record
