#pragma once

#include <filesystem>
#include <string>
#include <utility>
#include <vector>

namespace ddp::launch {

// A header, as the file of `sources` with this number finds it from its own folder: "blocks/attention.h".
using HeaderPlace = std::pair<std::size_t, std::string>;

// Returns the names of files without their folders: "my_model.cpp, my_data.cpp".
std::string file_names(const std::vector<std::filesystem::path>& files);

// The files of `sources` and the headers of their own that they include, with their texts.
class SourceTexts {
 public:
  // Reads the files. Throws ddp::Error (usage) where one cannot be read.
  explicit SourceTexts(std::vector<std::filesystem::path> sources);

  const std::vector<std::filesystem::path>& sources() const { return sources_; }
  // Adds headers. Returns false where one cannot be read.
  bool add(const std::vector<HeaderPlace>& headers);
  // Has one of the files been written since then, or gone?
  bool changed_since(std::filesystem::file_time_type time) const;
  // The headers in a list that a compiler writes by -MMD, of the source with this number. `others`: folders and files
  // whose headers are not the user's.
  std::vector<HeaderPlace> headers_in(const std::string& dependencies, std::size_t number,
                                      const std::vector<std::filesystem::path>& others) const;

  // The names and texts of the sources alone; of all files.
  std::string hash_of_sources() const;
  std::string hash_of_all() const;

  // The files below the folder that holds all of them: the sources in their order, then the headers.
  std::vector<std::string> names() const;
  // Writes all files below this folder, by those names.
  void write(const std::filesystem::path& folder) const;

  bool operator==(const SourceTexts&) const = default;

 private:
  std::filesystem::path common_folder() const;

  std::vector<std::filesystem::path> sources_;
  std::vector<HeaderPlace> headers_;
  std::vector<std::filesystem::path> files_;  // the sources, then each header once
  std::vector<std::string> texts_;            // of the files
};

}  // namespace ddp::launch
