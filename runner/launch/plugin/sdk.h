#pragma once

#include <filesystem>
#include <string>
#include <vector>

namespace ddp::launch {

// A compiler and its settings for files of C++ against this program, as sdk.json beside it says: the compiler that
// built it, its flags and its headers.
struct Sdk {
  std::vector<std::string> compiler;            // the command: $CXX, else the compiler of the build
  std::string identity;                         // changes with the compiler: its file, size and time
  std::vector<std::string> flags;               // without folders
  std::vector<std::filesystem::path> includes;  // folders
  std::vector<std::string> precompile;          // headers that are worth compiling once: "<torch/nn/module.h>"
  std::filesystem::path precompiled;            // a header that the build has compiled already; empty: none

  // The command with its flags and folders, to which files are added.
  std::vector<std::string> command() const;
};

// Reads sdk.json. Throws ddp::Error (usage) where it is missing or damaged, and where there is no such compiler.
Sdk read_sdk();

}  // namespace ddp::launch
