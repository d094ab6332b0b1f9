#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "record/saves/data_files.h"

// The files of a model that was written in Python. They hold its graph, which no weights show: the content decides, and
// neither path nor time.
namespace ddp::record {

// Returns the files that the options of [model] name, with the hash of their content. Leaves out files that cannot be
// read.
std::vector<DataFile> model_files(const config::Experiment& experiment);

// Tells whether this is such a file, among the files of a checkpoint's data.
bool is_model_file(const DataFile& file);

// Compares the model files in both lists by their options; an option that only one list has is no difference.
DataDifference model_difference(const std::vector<DataFile>& then, const std::vector<DataFile>& now);

// Throws ddp::Error (usage) if one of the current model files differs from the checkpoint's. `command`: accepts it, for
// the remedy.
void require_same_model(const std::filesystem::path& checkpoint, const std::vector<DataFile>& now,
                        const std::string& command);

// The remedy for a model file that differs.
std::string remedy_of_model(const std::string& command);

}  // namespace ddp::record
