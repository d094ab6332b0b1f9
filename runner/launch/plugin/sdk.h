#pragma once

#include <filesystem>
#include <string>
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

}  // namespace ddp::launch
