#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "workspace.h"

namespace ddp::system_test {

// A workspace whose compiled sources are kept in its own cache.
class SourcesWorkspace : public Workspace {
 public:
  // It has own.cpp, a model "own" with the option width, and own.toml, which trains it on two ranks.
  SourcesWorkspace();

  // The folders of compiled libraries.
  std::vector<std::filesystem::path> compiled() const;
  // All other entries of the cache except locks and lists of headers: none must be left behind.
  std::vector<std::filesystem::path> left_over() const;
  // The folder and the lock of a running compilation.
  std::vector<std::filesystem::path> unfinished() const;
};

// The source of the model "own": a hidden layer of `width` with `activation`. `more`: code at its end.
std::string own_model(const std::string& activation = "at::tanh", const std::string& more = "");

// Two ranks that train the model of own.cpp.
inline const std::string kOwn = R"(
sources     = ["own.cpp"]
model       = { name = "own", width = 8 }
dataset     = { name = "random_pairs", size = 101, features = 6, targets = 2 }
optimizer   = { name = "sgd", lr = 0.01, momentum = 0.9 }
device_pool = ["cpu", "cpu"]
batch_size  = 8
epochs      = 2
threads     = 1
)";

}  // namespace ddp::system_test
