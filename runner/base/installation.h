#pragma once

#include <filesystem>
#include <string>

namespace ddp {

// The folder of the running program. Its libraries and components.json lie beside it.
std::filesystem::path program_folder();

// Whether the program runs from the build folder of a checkout, whose scripts can build it again.
bool in_checkout();

// The remedy for a part of the program that is missing or of another build. `gpus`: for the part that needs CUDA.
std::string how_to_mend(bool gpus = false);

// Where scripts/ddp-exp keeps what it fetches: $XDG_CACHE_HOME/ddp-exp, else ~/.cache/ddp-exp.
std::filesystem::path cache_folder();

}  // namespace ddp
