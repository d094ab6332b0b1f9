#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>

// A fuzz target reads any bytes; it must come back. Ends the process where a promise is broken.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size);

namespace ddp::fuzz {

// Says what is broken, and aborts.
void require(bool kept, std::string_view promise);

// May a terminal be shown this text? Lines, without control characters, and not without end.
bool is_showable(std::string_view text);

// A folder in memory, for as long as the process runs.
const std::filesystem::path& scratch_folder();

// A file there, with this content.
std::filesystem::path scratch_file(const std::string& name, std::string_view content);

}  // namespace ddp::fuzz
