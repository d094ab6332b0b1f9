#pragma once

#include <filesystem>

#include "commands/train/prepare.h"
#include "config/value.h"

namespace ddp::commands {

// Throws ddp::Error (usage) where a page cannot have this name: before data are read for it.
void require_page_name(const std::filesystem::path& page);

// Writes a page that shows the data of an experiment, which data::describe has described. Throws ddp::Error (usage)
// where it cannot be written.
void write_preview(const std::filesystem::path& page, const Prepared& prepared, const config::Value& description);

}  // namespace ddp::commands
