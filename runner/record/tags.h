#pragma once

#include <optional>
#include <string>
#include <vector>

#include "config/option/fields.h"
#include "record/run_directory.h"

// The user's words about a run or a sweep: tags.json in its folder. The process that trains writes no tags.json once
// the run has begun, so a change from another terminal is never lost.
namespace ddp::record {

struct Tags {
  std::vector<std::string> names = {};  // sorted, each once
  std::string note = {};                // empty: none

  void fields(config::Fields& f);
};

struct TagChange {
  std::vector<std::string> added = {};
  std::vector<std::string> removed = {};
  std::optional<std::string> note = {};  // nothing: it stays

  bool empty() const { return added.empty() && removed.empty() && !note; }
};

// Throws ddp::Error (usage) if the text cannot be a tag.
void require_tag(const std::string& name);

// Returns no tags if the file is missing or damaged.
Tags read_tags(const RunDirectory& run);

// Changes the tags; of several processes, one after the other. Returns the new ones. Throws ddp::Error (usage) if the
// file is damaged, or cannot be written.
Tags change_tags(const RunDirectory& run, const TagChange& change);

}  // namespace ddp::record
