#pragma once

#include <filesystem>
#include <string>

#include "base/file_descriptor.h"

namespace ddp::runs {

// Runs at URLs, where a mirror has copied them (runs/mirror.h), as local folders. Throw-away children fetch them.

// Fetches a run to go on with it in RESULTS/NAME/RUN-ID, unless that stands where the copy stands. Returns the folder.
// Throws ddp::Error (usage) if there is no run, if the server refuses, or if the folder has later checkpoints.
std::filesystem::path fetch_to_go_on(const std::string& url, const std::filesystem::path& results);

// A copy in the cache folder that lasts as long as this object.
class FetchedCopy {
 public:
  // A copy has a run; its files without its tensors; or those of all runs of a results folder.
  enum class What { run, files, results };

  // Throws ddp::Error (usage) if there is no run, or if the server refuses.
  FetchedCopy(const std::string& url, What what);
  ~FetchedCopy();
  FetchedCopy(const FetchedCopy&) = delete;
  FetchedCopy& operator=(const FetchedCopy&) = delete;

  // The folder of the run, or the results folder.
  const std::filesystem::path& path() const { return path_; }

 private:
  std::filesystem::path folder_;
  FileDescriptor lock_;  // a folder whose lock is free is left over, and is removed by the next copy
  std::filesystem::path path_;
};

}  // namespace ddp::runs
