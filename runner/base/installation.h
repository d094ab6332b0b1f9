#pragma once

#include <filesystem>
#include <string>
#include <vector>

namespace ddp {

// The folder of the running program. Its libraries and components.json lie beside it.
std::filesystem::path program_folder();

// Whether the program runs from the build folder of a checkout, whose scripts can build it again.
bool in_checkout();

// The remedy for a part of the program that is missing or of another build. `gpus`: for the part that needs CUDA.
std::string how_to_mend(bool gpus = false);

// Where scripts/ddp-exp keeps what it fetches: $XDG_CACHE_HOME/ddp-exp, else ~/.cache/ddp-exp.
std::filesystem::path cache_folder();

// The places of a file that ddp-exp needs and a user need not name, best first: the cache folder, and the folder above
// the program, where pip puts other packages.
std::vector<std::filesystem::path> default_places(const std::string& file);

}  // namespace ddp
