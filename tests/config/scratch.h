#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "config/load.h"
#include "words.h"

namespace ddp::config {

// A folder with files of a test; it is the working directory until it goes, so that errors show short names.
class Scratch {
 public:
  Scratch();
  ~Scratch();
  Scratch(const Scratch&) = delete;
  Scratch& operator=(const Scratch&) = delete;

  void write(const std::string& name, const std::string& text) const;
  const std::filesystem::path& folder() const { return folder_; }

 private:
  std::filesystem::path before_;
  std::filesystem::path folder_;
};

// Some models, datasets, losses, optimizers and schedulers, with every sort of option.
const Components& sample_components();

// A file of this text, loaded with the sample components.
Loaded load_text(const std::string& text, const std::vector<std::string>& sets = {});

// What load says of a file "x.toml" of this text; "" if it is right.
std::string mistakes(const std::string& text, const std::vector<std::string>& sets = {});

// The same of a file that is there.
std::string mistakes_of(const std::filesystem::path& file, const std::vector<std::string>& sets = {});

// A file that is right, to put other lines in front or behind.
inline const std::string kModelAndDataset = "model = \"linear\"\ndataset = \"random_pairs\"\n";

std::size_t count(const std::string& text, const std::string& part);

}  // namespace ddp::config
