#pragma once

#include <filesystem>
#include <string>
#include <vector>

namespace ddp {

// The folder of the running program. Its libraries and components.json are in the same folder.
std::filesystem::path program_folder();

// Returns whether the program runs from the build folder of a checkout, whose scripts can rebuild it.
bool in_checkout();

// The remedy if a part of the program is missing or belongs to another build. `gpus`: the part needs CUDA.
std::string how_to_mend(bool gpus = false);

// The folder where scripts/ddp-exp keeps its downloads: $XDG_CACHE_HOME/ddp-exp, else ~/.cache/ddp-exp.
std::filesystem::path cache_folder();

// The default places of a file that ddp-exp needs, best first: the cache folder, and the folder above the program,
// where pip installs other packages.
std::vector<std::filesystem::path> default_places(const std::string& file);

}  // namespace ddp
