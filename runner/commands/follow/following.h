#pragma once

#include <filesystem>
#include <functional>

#include "record/run_directory.h"
#include "report/select/row.h"

namespace ddp::commands {

// A run or a sweep that another process writes, seen from this terminal.
class Followed {
 public:
  // Throws ddp::Error (usage) if it cannot be read.
  Followed(const record::RunDirectory& run, const std::filesystem::path& results);

  // As its summary and its process were when last read.
  const report::Row& row() const { return row_; }
  bool alive() const { return row_.view().status == "running"; }
  void read();

  // Calls `look` a few times a second until the run has ended, or until it returns false. Returns whether it has ended.
  bool wait_for_end(const std::function<bool()>& look);
  // Prints its status and its position on stderr.
  void tell_end() const;

 private:
  const record::RunDirectory run_;
  const std::filesystem::path results_;
  report::Row row_;
};

}  // namespace ddp::commands
