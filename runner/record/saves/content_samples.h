#pragma once

#include <string>
#include <vector>

#include "config/value.h"
#include "record/saves/data_files.h"

namespace ddp::record {

// Returns what shows whether machines read the same data: {"key", "path", "bytes", "content"} for each file; a folder
// with many files has {"files"} and no content. "content" is a hash of the file, or of 64 pieces of 64 KiB if it is
// larger; "" if the list has more than 64 data files, or the file cannot be read. Times are not in it: a copy is the
// same.
config::Value content_samples(const std::vector<DataFile>& files);

// Returns one hash of such a list, without the folders of its files.
std::string hash_of_samples(const config::Value& samples);

// Describes the first difference of the second list, without regard to folders: "dataset.path: /data/t.csv has 96
// bytes, not 120". "": there is none.
std::string sample_difference(const config::Value& first, const config::Value& second);

// The remedy for a difference.
inline constexpr const char* kSameDataRemedy = "give all machines the same files: copy them, or use a shared folder";

}  // namespace ddp::record
