#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "config/load/load.h"
#include "lines.h"
#include "scratch_folder.h"
#include "words.h"

namespace ddp::config {

// A folder with a test's files. It is the working directory until its destruction, so errors show short names.
class Scratch : public ScratchFolder {
 public:
  Scratch() { std::filesystem::current_path(folder()); }
  ~Scratch() { std::filesystem::current_path(before_); }

 private:
  const std::filesystem::path before_ = std::filesystem::current_path();
};

// Some models, datasets, losses, optimizers and schedulers, with options of every kind.
const Components& sample_components();

// Loads a file of this text with the sample components.
Loaded load_text(const std::string& text, const std::vector<std::string>& sets = {});

// Returns the error that load reports for a file "x.toml" of this text; "" if the file is valid.
std::string mistakes(const std::string& text, const std::vector<std::string>& sets = {});

// The same for an existing file.
std::string mistakes_of(const std::filesystem::path& file, const std::vector<std::string>& sets = {});

// A valid file, to extend by lines before or after it.
inline const std::string kModelAndDataset = "model = \"linear\"\ndataset = \"random_pairs\"\n";

}  // namespace ddp::config
