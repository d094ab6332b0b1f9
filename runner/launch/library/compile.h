#pragma once

#include <filesystem>
#include <string>
#include <utility>
#include <vector>

namespace ddp::launch {

// A compiler and its settings for C++ files against this program, from sdk.json beside it: the compiler that built the
// program, its flags and its headers.
struct Sdk {
  std::vector<std::string> compiler;            // the command: $CXX, else the compiler of the build
  std::string identity;                         // changes with the compiler: its file, size and time
  std::vector<std::string> flags;               // without include folders
  std::vector<std::filesystem::path> includes;  // include folders
  std::vector<std::string> precompile;          // headers worth precompiling: "<torch/nn/module.h>"
  std::filesystem::path precompiled;            // a header that the build has precompiled; empty: none

  // The command with its flags and folders; the caller appends files.
  std::vector<std::string> command() const;
};

// Reads sdk.json. Throws ddp::Error (usage) if it is missing or damaged, or if the compiler does not exist.
Sdk read_sdk();

// A header, named relative to the folder of the source with this number: "blocks/attention.h".
using HeaderPlace = std::pair<std::size_t, std::string>;

// Returns the names of files without their folders: "my_model.cpp, my_data.cpp".
std::string file_names(const std::vector<std::filesystem::path>& files);

// The files of `sources`, the user's headers that they include, and their texts.
class SourceTexts {
 public:
  // Reads the files. Throws ddp::Error (usage) if one cannot be read.
  explicit SourceTexts(std::vector<std::filesystem::path> sources);

  const std::vector<std::filesystem::path>& sources() const { return sources_; }
  // Adds headers. Returns false if one cannot be read.
  bool add(const std::vector<HeaderPlace>& headers);
  // Returns whether one of the files has been written or removed since the sources were read.
  bool changed() const;
  // Returns the headers in the -MMD output of the source with this number. `others`: folders and files whose headers
  // are not the user's.
  std::vector<HeaderPlace> headers_in(const std::string& dependencies, std::size_t number,
                                      const std::vector<std::filesystem::path>& others) const;

  // Hashes of names and texts: of the sources alone, and of all files.
  std::string hash_of_sources() const;
  std::string hash_of_all() const;

  // The paths of all files relative to their common folder: the sources in order, then the headers.
  std::vector<std::string> names() const;
  // Writes all files below this folder, under those paths.
  void write(const std::filesystem::path& folder) const;

 private:
  std::filesystem::path common_folder() const;

  std::filesystem::file_time_type read_ = std::filesystem::file_time_type::clock::now();
  std::vector<std::filesystem::path> sources_;
  std::vector<HeaderPlace> headers_;
  std::vector<std::filesystem::path> files_;  // the sources, then each header once
  std::vector<std::string> texts_;            // of the files
};

// Compiles sources concurrently, and links them into plugin.so in the folder `made`. The compiler's output goes to
// stderr unchanged; warnings are no errors. Returns the user's headers that the sources include. Throws ddp::Error
// (usage) if a file does not compile, and Stopped.
std::vector<HeaderPlace> compile(const Sdk& sdk, const std::filesystem::path& cache, const SourceTexts& texts,
                                 const std::filesystem::path& made);

}  // namespace ddp::launch
