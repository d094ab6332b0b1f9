#pragma once

#include <filesystem>
#include <string>

namespace ddp::tables {

// Throws ddp::Error (usage) if the file's first bytes show that it is no text in UTF-8, but a file of another format.
// `format`: the format of the dataset, "csv" or "jsonl".
void refuse_foreign(const std::filesystem::path& file, const std::string& format);

}  // namespace ddp::tables
