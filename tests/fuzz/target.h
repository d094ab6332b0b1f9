#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>

// Entry of a fuzz target: reads any bytes and must return. Ends the process if a promise is broken.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size);

namespace ddp::fuzz {

// Prints the broken promise, and aborts.
void require(bool kept, std::string_view promise);

// Returns true if the text is safe for a terminal: lines of bounded length without control characters.
bool is_showable(std::string_view text);

// A folder in memory that exists as long as the process.
const std::filesystem::path& scratch_folder();

// Writes a file of this content to that folder, and returns its path.
std::filesystem::path scratch_file(const std::string& name, std::string_view content);

}  // namespace ddp::fuzz
